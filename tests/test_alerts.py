"""
The rules of Prometheus as data: what is in each, and what the file says that is printed.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

import toolspan_dashboard
from tests.cli_runner import Cli
from toolspan.alerts import (
    DEFAULT_LINKS,
    DEFAULT_THRESHOLDS,
    Alert,
    Burn,
    Links,
    Thresholds,
    alerts_of,
    recordings_of,
    rule_document,
)
from toolspan.alerts.durations import duration, number
from toolspan.config import load_settings
from toolspan.errors import ConfigError
from toolspan.metrics import FAMILIES, Kind
from toolspan.numbers import DEFAULT_TARGETS

PAGES = Path(toolspan_dashboard.__file__).parent / "pages"
ALERTS = alerts_of(DEFAULT_THRESHOLDS, DEFAULT_TARGETS)
RECORDINGS = recordings_of(DEFAULT_THRESHOLDS)
EXPRESSIONS = [*(each.expression for each in ALERTS), *(each.expression for each in RECORDINGS)]


def series_names() -> set[str]:
    """
    What a scrape shows, by name.
    """
    names = {family.name for family in FAMILIES}
    parts = ("_bucket", "_count", "_sum")
    return names | {family.name + part for family in FAMILIES if family.kind is Kind.HISTOGRAM for part in parts}


class TestRules:
    @pytest.mark.parametrize("expression", EXPRESSIONS)
    def test_ask_only_what_there_is(self, expression: str) -> None:
        """
        Metrics that are exposed, and recordings that are made.
        """
        asked = set(re.findall(r"[\w:]*toolspan_[\w:]+", expression))

        assert asked
        assert asked <= series_names() | {recording.name for recording in RECORDINGS}

    @pytest.mark.parametrize("expression", EXPRESSIONS)
    def test_never_ask_for_a_code(self, expression: str) -> None:
        """
        What is beyond the bound of its values is counted without one.
        """
        assert not re.search(r"\bcode\b", expression)

    def test_record_nothing_twice_and_nothing_unused(self) -> None:
        """
        Each recording is in a rule after it.
        """
        rest = "\n".join(EXPRESSIONS)

        assert len({recording.name for recording in RECORDINGS}) == len(RECORDINGS)
        assert [] == [each.name for each in RECORDINGS if not re.search(rf"(?<![\w:]){each.name}(?![\w:])", rest)]

    def test_record_before_they_use(self) -> None:
        """
        The rules of a group are evaluated in order.
        """
        made: set[str] = set()
        for recording in RECORDINGS:
            assert set(re.findall(r"\w+:[\w:]+", recording.expression)) <= made
            made.add(recording.name)

    @pytest.mark.parametrize("alert", [each for each in ALERTS if each.name != "ToolspanNoCollector"])
    def test_demand_a_minimum_of_traffic(self, alert: Alert) -> None:
        """
        By the target's number of cases; a collector that is gone has none to show.
        """
        assert alert.expression.count(f">= {DEFAULT_TARGETS.min_cases}") == 1

    @pytest.mark.parametrize("alert", ALERTS)
    def test_lead_on(self, alert: Alert) -> None:
        """
        Each annotation has the tool, a runbook and a page.
        """
        annotations: Any = alert.document(Links("http://d.test/", "http://r.test/"))["annotations"]

        assert {"summary", "description", "tool", "runbook_url", "dashboard_url"} == set(annotations)
        assert f"http://r.test/{alert.name}.md" == annotations["runbook_url"]
        page = urlsplit(str(annotations["dashboard_url"]))
        assert "d.test" == page.netloc
        assert (page.path == "/tool") == ("tool={{ $labels.tool | urlquery }}" in page.query)
        assert (PAGES / f"{alert.page}.py").exists()
        assert annotations["tool"] in ("{{ $labels.tool }}", "all tools")

    def test_have_the_thresholds_that_are_given(self) -> None:
        """
        Numbers without the noise of binary fractions, windows as Prometheus writes them.
        """
        thresholds = Thresholds(tail=0.07, burns=(Burn(90, 45, 3.0, is_page=False),), window_s=5400, recent_s=60)
        first = alerts_of(thresholds, DEFAULT_TARGETS._replace(min_cases=7))[0]

        assert (
            "tool:toolspan_retry_tail:ratio90s > 0.21\n"
            "and on (tool) tool:toolspan_retry_tail:ratio45s > 0.21\n"
            "and on (tool) tool:toolspan_resolved_tasks:increase90s >= 7"
        ) == first.expression


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (1, "1s"), (90, "90s"), (300, "5m"), (5400, "90m"), (3600, "1h"), (259_200, "3d")]
)
def test_a_duration_is_written_in_its_largest_unit(seconds: int, text: str) -> None:
    """
    As Prometheus reads it, with no unit lost.
    """
    assert text == duration(seconds)


def test_a_number_has_no_noise() -> None:
    """
    Of a product of binary fractions.
    """
    assert ["0.72", "0.05", "600", "1"] == [number(each) for each in (0.05 * 14.4, 0.05, 600.0, 1.0)]


class TestCommand:
    def test_prints_the_rule_file(self, toolspan: Cli) -> None:
        """
        YAML that says the same as the document.
        """
        result = toolspan("alerts")

        assert (0, "") == (result.status, result.err)
        assert rule_document() == yaml.safe_load(result.out)
        assert "    expr: |-\n" in result.out

    def test_takes_the_addresses(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        Of the configuration, before which the options come.
        """
        config = tmp_path / "toolspan.toml"
        config.write_text('[alerts]\ndashboard = "http://d.test"\nrunbooks = "http://r.test"\n')

        configured = toolspan("alerts", "--config", config).out
        given = toolspan("alerts", "--config", config, "--dashboard", "http://e.test").out

        assert ("http://d.test/tool?" in configured, "http://r.test/" in configured) == (True, True)
        assert ("http://d.test" in given, "http://e.test/tool?" in given, "http://r.test/" in given) == (
            False,
            True,
            True,
        )

    def test_takes_thresholds_from_the_configuration(self, toolspan: Cli, tmp_path: Path) -> None:
        """
        The targets as well, which `check` has too.
        """
        config = tmp_path / "toolspan.toml"
        config.write_text(
            "[targets]\nvalidation_recovery = 0.7\nmin_cases = 3\n"
            "[alerts]\nwindow = 60\nrecent = 30\ninterval = 5\nlost = 0.5\nunclassified = 0.25\n"
            "[[alerts.burn]]\nlong = 40\nshort = 20\nfactor = 2.0\npage = true\n"
        )

        document = yaml.safe_load(toolspan("alerts", "--config", config).out)

        [group] = document["groups"]
        found = {rule["alert"]: rule for rule in group["rules"] if "alert" in rule}
        assert "5s" == group["interval"]
        assert "ratio1m < 0.7\n" in found["ToolspanValidationRecovery"]["expr"]
        assert found["ToolspanRetryTail"]["expr"].startswith("tool:toolspan_retry_tail:ratio40s > 0.1\n")
        assert "page" == found["ToolspanRetryTail"]["labels"]["severity"]
        assert found["ToolspanSpansLost"]["expr"].endswith(">= 3")

    def test_says_what_to_install_to_print(self) -> None:
        """
        One line, where the package is bare.
        """
        bare = "import sys; sys.modules['yaml'] = None; from toolspan.cli import main; main(['alerts'])"

        result = subprocess.run([sys.executable, "-c", bare], capture_output=True, text=True, check=False, timeout=60)

        install = f"{shlex.quote(sys.executable)} -m pip install 'toolspan[prometheus]'"
        said = f"toolspan: To print rules takes a package that is not installed; {install} installs it.\n"
        assert (2, "", said) == (result.returncode, result.stdout, result.stderr)

    def test_without_a_file_everything_has_its_default(self, tmp_path: Path) -> None:
        """
        An empty table changes nothing either.
        """
        config = tmp_path / "toolspan.toml"
        config.write_text("[alerts]\n")

        settings = load_settings(environ={}, config_path=str(config))

        assert (DEFAULT_THRESHOLDS, DEFAULT_LINKS) == (settings.thresholds, settings.links)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("recent = 30000", "recent is 30000 and window 21600; window is the longer one"),
            ("silence = 90000", "silence is 90000 and baseline 86400; baseline is the longer one"),
            ("tail = 0.1", "14.4 times a tail of 0.1 is never reached; give a factor under 10"),
            ("tail = 0.0", "line 2: tail should be greater than 0"),
            ("window = 1.5", "line 2: window should be a valid integer"),
            ("window = 0", "line 2: window should be greater than or equal to 1"),
            ("cluster = 2", "line 2: cluster should be less than or equal to 1"),
            ("wasted = inf", "line 2: wasted should be a finite number"),
            ("burn = []", "line 2: burn "),
            ("runbook = 'x'", "line 2: unknown key 'runbook'; did you mean 'runbooks'?"),
            ("[[alerts.burn]]\nlong = 60\nshort = 60\nfactor = 2", "short is 60 and long 60; the short window is"),
            ("[[alerts.burn]]\nlong = 60\nshort = 6", "this burn has no factor"),
            ("[[alerts.burn]]\nlong = 60\nfactor = 2", "this burn has no short; give one in seconds"),
            (
                "[[alerts.burn]]\nlong = 60\nshort = 6\nfactor = 2\nlongs = 60",
                "unknown key 'longs'; did you mean 'long'?",
            ),
        ],
    )
    def test_refuses_what_makes_no_rule(self, tmp_path: Path, text: str, says: str) -> None:
        """
        With its line, as every other fault of the file.
        """
        config = tmp_path / "toolspan.toml"
        config.write_text(f"[alerts]\n{text}\n")

        with pytest.raises(ConfigError) as caught:
            load_settings(environ={}, config_path=str(config))

        assert says in str(caught.value)
