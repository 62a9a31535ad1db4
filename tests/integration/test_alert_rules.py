"""
Each alert before promtool: it fires, it does not fire on noise, and it ends once the cause has.

Series count by the minute, as a scrape sees them: from 0. What is wrong lasts an hour.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.promtool import LINKS, Fired, Moment, annotations_complaint, complaint, promtool, write_rules
from toolspan.alerts import Burn, Thresholds, alerts_of
from toolspan.numbers import DEFAULT_TARGETS

Series = dict[str, str]

#: A collector that is scraped, and has nothing to do.
IDLE = {"toolspan_open_tasks": "0x2000"}
BOOK = {"tool": "book"}
#: While it lasts; an hour and five minutes after it began, when it still counts; once it is out of the short window.
DURING, AFTER = 40, 100


def hour(per_minute: int) -> str:
    """
    A counter that counts for an hour and then no more.
    """
    return f"0+{per_minute}x60 {60 * per_minute}+0x900"


def first(minutes: int, per_minute: int) -> str:
    """
    A counter that counts for so many *minutes*.
    """
    return f"0+{per_minute}x{minutes} {minutes * per_minute}+0x900"


def retries(tasks: str, *, at_most_one: str, tool: str = "book") -> Series:
    """
    Resolved *tasks*, of which *at_most_one* had no more than one retry; the others had three.
    """
    counted = {"0.0": at_most_one, "1.0": at_most_one, "2.0": at_most_one, "3.0": tasks, "+Inf": tasks}
    name = "toolspan_retries_per_resolved_task"
    buckets = {f'{name}_bucket{{tool="{tool}", le="{bound}"}}': values for bound, values in counted.items()}
    return {f'{name}_count{{tool="{tool}"}}': tasks, **buckets}


def recovery(failures: str, recovered: str) -> Series:
    return {
        'toolspan_validation_failures_total{tool="book"}': failures,
        'toolspan_validation_recoveries_total{tool="book"}': recovered,
    }


def escalations(clean: str, retried: str) -> Series:
    return {
        'toolspan_escalations_total{tool="book", prior_retry="false"}': clean,
        'toolspan_escalations_total{tool="book", prior_retry="true"}': retried,
    }


def wasted(seconds: str, calls: str) -> Series:
    return {
        'toolspan_wasted_seconds_total{tool="book", class="validation"}': seconds,
        'toolspan_wasted_seconds_total{tool="book", class="fatal"}': "0x900",
        'toolspan_calls_total{tool="book", outcome="error"}': calls,
    }


def errors(**classes: str) -> Series:
    """
    Failures by class; half of the codes of a class are another series, which no rule may count apart.
    """
    return {
        f'toolspan_errors_total{{tool="book", class="{name}", code="{code}"}}': values
        for name, values in classes.items()
        for code in ("A", "_other")
    }


def spans(received: str, dropped: str = "0x2000") -> Series:
    return {
        "toolspan_spans_received_total": received,
        'toolspan_spans_dropped_total{reason="late"}': dropped,
        'toolspan_spans_dropped_total{reason="rejected"}': "0x2000",
    }


TAIL: tuple[Fired, ...] = tuple(
    ("ToolspanRetryTail", {**BOOK, "window": window}) for window in ("1h", "6h", "1d", "3d")
)
P95: Fired = ("ToolspanRetriesP95", BOOK)

#: By alert: series on which it fires for as long as they count, what fires then, and series on which nothing does.
CASES: Mapping[str, tuple[Series, tuple[Fired, ...], list[Series]]] = {
    "ToolspanRetryTail": (
        retries(hour(1), at_most_one=hour(0)),
        (*TAIL, P95),
        [
            retries(first(19, 1), at_most_one=first(19, 0)),
            retries(hour(20), at_most_one=hour(19)),
        ],
    ),
    "ToolspanRetriesP95": (
        retries(hour(25), at_most_one=hour(23)),
        # 8 % are more than the 5 that the slowest pair of windows allows, and less than three times that
        (TAIL[3], P95),
        [retries(first(19, 1), at_most_one=first(19, 0)), retries(hour(20), at_most_one=hour(19))],
    ),
    "ToolspanValidationRecovery": (
        recovery(hour(2), hour(1)),
        (("ToolspanValidationRecovery", BOOK),),
        [recovery(first(19, 1), "0x900"), recovery(hour(5), hour(4))],
    ),
    "ToolspanRetryBeforeEscalation": (
        escalations(hour(1), hour(1)),
        (("ToolspanRetryBeforeEscalation", BOOK),),
        [escalations("0x900", first(19, 1)), escalations(hour(9), hour(1))],
    ),
    "ToolspanWastedTime": (
        wasted(hour(30), hour(1)),
        (("ToolspanWastedTime", BOOK),),
        [wasted(first(19, 100), first(19, 1)), wasted(hour(9), hour(10))],
    ),
    "ToolspanUnclassified": (
        errors(unclassified=hour(3), validation=hour(1)),
        (("ToolspanUnclassified", {**BOOK, "class": "unclassified"}),),
        [
            errors(unclassified=first(9, 1), validation="0x900"),
            errors(unclassified=hour(1), validation=hour(5), fatal=hour(4)),
        ],
    ),
    "ToolspanErrorCluster": (
        errors(validation=hour(3), transient=hour(2), unclassified="0x900"),
        (("ToolspanErrorCluster", {**BOOK, "class": "validation"}),),
        [
            errors(validation=first(9, 1), transient="0x900"),
            errors(validation=hour(2), transient=hour(2)),
        ],
    ),
    "ToolspanSpansLost": (
        spans(hour(10), hour(1)),
        (("ToolspanSpansLost", {}),),
        [spans("0+100x900", "0+1x900"), spans(first(19, 1), first(19, 1))],
    ),
}


def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    """
    Debian's, which is of 2023, and any later one.
    """
    result = promtool("check", "rules", write_rules(tmp_path))

    assert 0 == result.returncode, result.stderr
    assert "SUCCESS" in result.stdout


@pytest.mark.parametrize("alert", CASES)
def test_an_alert_fires_and_ends(tmp_path: Path, alert: str) -> None:
    """
    While it lasts that one does, and those that say the same otherwise; half an hour after the cause none does.
    """
    series, fired, _ = CASES[alert]
    slow = tuple(each for each in fired if each in TAIL[2:])
    # the slowest pair of windows looks back six hours
    after = [Moment(AFTER, slow), Moment(60 + 6 * 60 + 5)] if slow else [Moment(AFTER)]

    assert "" == complaint(tmp_path, {**IDLE, **series}, [Moment(1), Moment(DURING, fired), *after])


@pytest.mark.parametrize(("alert", "place"), [(alert, place) for alert in CASES for place in (0, 1)])
def test_an_alert_does_not_fire_on_noise(tmp_path: Path, alert: str, place: int) -> None:
    """
    On too few cases, however bad, and on many that are within what is allowed.
    """
    noise = CASES[alert][2][place]

    assert "" == complaint(tmp_path, {**IDLE, **noise}, [Moment(minutes) for minutes in (10, 30, 60)])


def test_a_tail_that_is_mended_stays_quiet_in_the_short_windows(tmp_path: Path) -> None:
    """
    Good tasks follow the bad ones: the long windows still hold these, the short ones do not.
    """
    bad_then_good = retries("0+1x300", at_most_one="0x60 0+1x240")

    # 5 minutes, half an hour, two hours and six after it
    expected = [Moment(60, (*TAIL, P95)), Moment(70, (*TAIL[1:], P95)), Moment(100, TAIL[2:]), Moment(190, TAIL[3:])]
    assert "" == complaint(tmp_path, {**IDLE, **bad_then_good}, expected)


def test_a_tail_counts_over_all_collectors(tmp_path: Path) -> None:
    """
    Ten tasks of each of two are twenty.
    """
    series = {
        name.replace("{", f'{{instance="{instance}", '): values
        for name, values in retries(first(10, 1), at_most_one="0x900").items()
        for instance in ("a", "b")
    }

    assert "" == complaint(tmp_path, {**IDLE, **series}, [Moment(9), Moment(13, (*TAIL, P95))])


def test_one_tool_does_not_hide_another(tmp_path: Path) -> None:
    """
    The tool that is well has no alert, and the other has.
    """
    well = retries(hour(50), at_most_one=hour(50), tool="search")
    series = {**IDLE, **well, **retries(hour(1), at_most_one=hour(0))}

    assert "" == complaint(tmp_path, series, [Moment(DURING, (*TAIL, P95))])


def test_what_a_fault_drops_is_lost_though_nothing_was_received(tmp_path: Path) -> None:
    """
    It is all of what came.
    """
    expected = [Moment(19), Moment(25, (("ToolspanSpansLost", {}),))]
    assert "" == complaint(tmp_path, {**IDLE, **spans("0x900", first(30, 1))}, expected)


def test_silence_is_alerted_on_where_spans_were_expected(tmp_path: Path) -> None:
    """
    After a quarter of an hour, and until spans come again.
    """
    silence = spans("0+10x200 2000+0x60 2000+10x100")
    no_data: Fired = ("ToolspanNoData", {})

    expected = [Moment(200), Moment(214), Moment(219, (no_data,)), Moment(260, (no_data,)), Moment(263)]
    assert "" == complaint(tmp_path, {**IDLE, **silence}, expected)


@pytest.mark.parametrize(
    "noise",
    [spans("0+10x200 2000+0x12 2000+10x100"), spans("0+1x200 200+0x600"), spans("0x900")],
    ids=["a gap of twelve minutes", "one span a minute", "never a span"],
)
def test_silence_that_may_be_is_no_alert(tmp_path: Path, noise: Series) -> None:
    """
    A short one, and that of a collector to which little comes.
    """
    assert "" == complaint(tmp_path, {**IDLE, **noise}, [Moment(minutes) for minutes in (200, 212, 219, 260, 300)])


def test_a_collector_that_is_gone_is_alerted_on(tmp_path: Path) -> None:
    """
    Not while it restarts; also where it was never scraped.
    """
    gone: Fired = ("ToolspanNoCollector", {})
    series = {"toolspan_open_tasks": "0x30 _x12 0x30 _x40 0x30"}

    # a value counts for five minutes; the second gap begins at 74
    expected = [Moment(44), Moment(93), Moment(96, (gone,)), Moment(113, (gone,)), Moment(117)]
    assert "" == complaint(tmp_path, series, expected)
    assert "" == complaint(tmp_path, {"other": "0x30"}, [Moment(14), Moment(16, (gone,))])


def test_windows_may_be_seconds(tmp_path: Path) -> None:
    """
    As where a whole course of events is to be seen in a minute.
    """
    thresholds = Thresholds(
        burns=(Burn(40, 10, 2.0, is_page=True),), window_s=40, recent_s=20, silence_s=10, baseline_s=40, pending_s=0
    )

    result = promtool("check", "rules", write_rules(tmp_path, thresholds))

    assert 0 == result.returncode, result.stderr
    assert "ratio40s" in (tmp_path / "rules.yml").read_text()


def test_annotations_name_the_tool_and_lead_on(tmp_path: Path) -> None:
    """
    The number, the tool, its runbook and its page, whatever the tool is called.
    """
    series = {name.replace('"book"', '"a&b c"'): values for name, values in recovery(hour(2), hour(1)).items()}
    [alert] = [each for each in alerts_of(Thresholds(), DEFAULT_TARGETS) if each.name == "ToolspanValidationRecovery"]

    expected = {
        "eval_time": "40m",
        "alertname": alert.name,
        "exp_alerts": [
            {
                "exp_labels": {"severity": "ticket", "tool": "a&b c"},
                "exp_annotations": {
                    "summary": "a&b c: 50% of its validation failures recover.",
                    "description": alert.description,
                    "tool": "a&b c",
                    "runbook_url": f"{LINKS.runbooks}/ToolspanValidationRecovery.md",
                    "dashboard_url": f"{LINKS.dashboard}/tool?range=6h&tool=a%26b+c",
                },
            }
        ],
    }
    assert "" == annotations_complaint(tmp_path, {**IDLE, **series}, expected)


def test_every_alert_is_tried() -> None:
    """
    A new one has no cases yet, which shows here.
    """
    tried = {*CASES, "ToolspanNoData", "ToolspanNoCollector"}

    assert {alert.name for alert in alerts_of(Thresholds(), DEFAULT_TARGETS)} == tried
