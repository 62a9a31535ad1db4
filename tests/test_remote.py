"""
A collector as a store: what it is sent, and one line for whatever goes wrong on the way.
"""

import json
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli_runner import Cli
from tests.facts import run, tool_span
from tests.served import TLS, http, serving, talking
from tests.test_collector_api import READY
from toolspan.collector.api import api_app
from toolspan.collector.questions import Context
from toolspan.config import Settings
from toolspan.errors import InputError, StoreError
from toolspan.metrics import Metrics
from toolspan.prometheus import MetricsCollector
from toolspan.remote import Collector
from toolspan.scope import EVERYTHING
from toolspan.store.held import HeldStore

_TOKEN = "s3cret"  # noqa: S105 - of a test
#: Of any characters, as the ids of tasks may be.
_ODD_ID = "a b/../c\n#%2f?é\u2028&=.\t"
_NO_CALLS = json.dumps({"calls": [], "next": None}).encode()


@dataclass(slots=True)
class Said:
    """
    Says always the same, and keeps what it was asked.
    """

    answer: bytes
    heads: list[str] = field(default_factory=list[str])

    def __call__(self, request: bytes) -> bytes:
        self.heads.append(request.partition(b"\r\n\r\n")[0].decode("latin-1"))
        return self.answer


def ours(status: int, body: bytes) -> bytes:
    """
    What a collector answers.
    """
    return http(status, body, Toolspan_Api="1")


class TestWhatAnswers:
    @pytest.mark.parametrize(
        ("answer", "line"),
        [
            (http(200, b"<html>"), "is no toolspan collector, or not its --http address (9464"),
            (http(200, b'{"status": "success"}'), "is no toolspan collector"),
            (http(404, b"404 page not found"), "is no toolspan collector"),
            (http(401, b"who are you?"), "is no toolspan collector"),
            (http(307, Location="http://127.0.0.1:1/"), "is no toolspan collector"),
            (http(502, b"Bad Gateway"), "answers 502: is the collector behind it running?"),
            (http(503), "answers 503: is the collector behind it running?"),
            (http(200, b"{}", Toolspan_Api="2"), "of another version (its API is 2, this command's 1)"),
            (ours(401, b""), "wants a token: set TOOLSPAN_TOKEN"),
            (ours(503, b'{"detail": "x.duckdb is not open just now"}'), ": x.duckdb is not open just now"),
            (ours(500, b'{"detail": "A fault of toolspan"}'), ": A fault of toolspan"),
            (ours(500, b"{}"), "answers as no collector of this version does: KeyError('detail')"),
            (ours(200, b"<html>"), "answers as no collector of this version does"),
            (ours(200, b"[]"), "answers as no collector of this version does"),
            (ours(200, b'{"calls": [{}], "next": null}'), "answers as no collector of this version does"),
            (b"", "hangs up without an answer"),
            (b"\0\0\x12\x04\0\0\0\0\0\0", "hangs up without an answer"),
            (http(200, b"{}").replace(b"Length: 2", b"Length: 3"), "hangs up without an answer"),
        ],
    )
    def test_is_said_in_one_line(self, toolspan: Cli, answer: bytes, line: str) -> None:
        """With the address, and what to do."""
        with talking(Said(answer)) as address:
            ran = toolspan("calls", "--store", address)

        assert (2, "", 1) == (ran.status, ran.out, ran.err.count("\n"))
        assert address in ran.err
        assert line in ran.err

    def test_whoever_says_nothing_is_not_waited_for(self) -> None:
        """For ever: neither for the head of an answer, nor for its body."""
        half = ours(200, b"{}").replace(b"Length: 2", b"Length: 3")

        for answer in (b"", half):
            with talking(Said(answer), hangs_up=False) as address:
                collector = Collector(address, token=None, timeout_s=0.05)
                with pytest.raises(StoreError, match=r"did not answer within 0.05 s; is it overloaded"):
                    collector.names()

    def test_tls_where_there_is_none(self) -> None:
        """The other scheme is the remedy."""
        with talking(Said(http(400))) as address:
            collector = Collector(address.replace("http:", "https:"), token=None)
            with pytest.raises(StoreError, match="speaks no TLS; write http://"):
                collector.names()

    def test_no_tls_where_there_is_some(self) -> None:
        """The server hangs up: it may be that."""
        with talking(Said(b""), is_encrypted=True) as address:
            collector = Collector(address.replace("https:", "http:"), token=None)
            with pytest.raises(StoreError, match="or wants https://"):
                collector.names()

    def test_a_certificate_has_to_be_trusted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """And can be, by a variable."""
        with talking(Said(ours(200, _NO_CALLS)), is_encrypted=True) as numeric:
            address = numeric.replace("127.0.0.1", "localhost")
            with pytest.raises(StoreError, match=r"is not trusted \(.*\); name that of who issued it in REQUESTS_CA_"):
                Collector(address, token=None).names()
            monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(TLS / "localhost.pem"))
            found = list(Collector(address, token=None).calls(EVERYTHING))

        assert [] == found


class TestAddress:
    @pytest.mark.parametrize(
        "address",
        ["http://", "http:9464", "http://:9464", "http://x:0", "http://x:99999", "http://x/metrics", "http://x/?a=b"],
    )
    def test_is_a_scheme_a_host_and_a_port(self, address: str) -> None:
        """And nothing else."""
        with pytest.raises(InputError, match="is no address of a collector: give http://HOST:PORT"):
            Collector(address, token=None)

    @pytest.mark.parametrize("address", ["http://me:geheim@localhost:9464", "https://geheim@x", "http://me:geheim@x:y"])
    def test_holds_no_password(self, address: str) -> None:
        """Which is not printed either."""
        with pytest.raises(InputError, match="into TOOLSPAN_TOKEN") as refused:
            Collector(address, token=None)

        assert "geheim" not in str(refused.value)

    def test_of_this_machine_is_asked_without_a_proxy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Which would ask its own."""
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)

        with talking(Said(ours(200, _NO_CALLS))) as address:
            found = list(Collector(address, token=None).calls(EVERYTHING))

        assert [] == found


class TestToken:
    def test_is_sent_whatever_a_netrc_has(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A password for the host would take its place."""
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login me password other\n", encoding="utf-8")
        monkeypatch.setenv("NETRC", str(netrc))
        said = Said(ours(200, _NO_CALLS))

        with talking(said) as address:
            list(Collector(address, token=_TOKEN).calls(EVERYTHING))

        assert f"Authorization: Bearer {_TOKEN}" in said.heads[0].splitlines()

    def test_goes_to_nobody_else(self) -> None:
        """Whoever redirects is no collector."""
        other = Said(ours(200, _NO_CALLS))
        with (
            talking(other) as elsewhere,
            talking(Said(http(307, Location=f"{elsewhere}/"))) as address,
            pytest.raises(StoreError, match="is no toolspan collector"),
        ):
            Collector(address, token=_TOKEN).names()

        assert [] == other.heads


class TestTasks:
    @pytest.fixture
    def collector(self, tmp_path: Path) -> Generator[Collector]:
        """
        One with a task of an odd id.
        """
        store = HeldStore(tmp_path / "x.duckdb", url="", settings=Settings(), tell=pytest.fail)
        store.write(
            [run(1, task_id=_ODD_ID), tool_span(1, 2, start=0, task_id=_ODD_ID)],
            knows=lambda _: True,
        )
        with serving(api_app(Context(store, lambda: READY, Settings()), MetricsCollector(Metrics()))) as address:
            yield Collector(address, token=None)
        store.close()

    def test_an_id_may_hold_any_character(self, collector: Collector) -> None:
        """As in the file."""
        ids = [call.task_id for call in collector.calls(EVERYTHING, task_id=_ODD_ID)]

        assert [_ODD_ID] == ids
        assert [True, False, False, False] == [
            collector.has_task(task_id) for task_id in (_ODD_ID, _ODD_ID.strip(), "", "\udcff")
        ]

    def test_a_text_that_is_none_is_nobodys_name(self, collector: Collector) -> None:
        """Bytes of another encoding on the command line."""
        assert [] == list(collector.calls(EVERYTHING._replace(tool="\udcff")))

    def test_whether_there_is_one_is_not_guessed(self) -> None:
        """An answer that says nothing of it is no answer."""
        for answer, line in ((ours(401, b""), "wants a token"), (http(404), "is no toolspan collector")):
            with talking(Said(answer)) as address, pytest.raises(StoreError, match=line):
                Collector(address, token=None).has_task("a")


class TestCopy:
    def test_one_that_breaks_off_leaves_nothing(self, tmp_path: Path) -> None:
        """A file under that name is whole."""
        half = ours(200, b"DUCK").replace(b"Length: 4", b"Length: 4000")

        with talking(Said(half)) as address, pytest.raises(StoreError, match="broke off"):
            Collector(address, token=None).snapshot(tmp_path / "copy.duckdb")

        assert [] == list(tmp_path.iterdir())

    def test_is_for_its_owner(self, tmp_path: Path) -> None:
        """The key with which arguments are hashed is in it."""
        said = Said(ours(200, b"DUCK"))

        with talking(said) as address:
            Collector(address, token=None).snapshot(tmp_path / "copy.duckdb")

        assert (b"DUCK", 0o600) == (
            (tmp_path / "copy.duckdb").read_bytes(),
            (tmp_path / "copy.duckdb").stat().st_mode & 0o777,
        )
        assert "Accept-Encoding: identity" in said.heads[0].splitlines()
