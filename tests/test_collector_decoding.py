"""
Requests decoded here or in another process: the same facts, and the same errors.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import Future
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import otlp_builder as build
from tests.integration.processes import otlp_trace_of
from tests.properties.test_otlp import spans
from toolspan.collector.decoding import Decoding, encode, read_spans
from toolspan.config import Settings, load_settings
from toolspan.errors import InputError, UnavailableError
from toolspan.otlp import Decoded

_PATIENCE_S = 60
LARGE = build.json_line([span for number in range(1, 200) for span in otlp_trace_of(number)])
RULES = """
escalation_tools = ["ask_manager"]

[arguments]
ignore = ["idempotency_key"]

[[rule]]
tool = "bo*"
http = 503
class = "fatal"
code = "GONE_FOR_GOOD"
"""


@pytest.fixture(scope="module")
def decodings(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Decoding, Decoding]]:
    """
    One that decodes here, and one in a process, with the same rules and key.
    """
    config = tmp_path_factory.mktemp("decoding") / "toolspan.toml"
    config.write_text(RULES, encoding="utf-8")
    rules = load_settings(environ={"TOOLSPAN_HASH_KEY": "k"}, config_path=str(config))
    pair = Decoding(rules, processes=0), Decoding(rules, processes=1)
    yield pair
    for each in pair:
        each.close()


def outcome(decoding: Decoding, data: bytes, *, is_json: bool = True) -> Decoded | Exception:
    """
    What becomes of *data*.
    """
    done: Future[Decoded | Exception] = Future()
    decoding.decode(data, is_json=is_json, done=done.set_result)
    return done.result(_PATIENCE_S)


def test_another_process_gives_the_same(decodings: tuple[Decoding, Decoding]) -> None:
    """With the rules and the key of this one."""
    here, there = (outcome(each, LARGE) for each in decodings)

    assert here == there
    assert isinstance(here, Decoded)
    judged = [span.call.judgement for span in here.spans if span.call]
    assert ("fatal", "GONE_FOR_GOOD") in {(each.error_class, each.code) for each in judged}


def test_what_another_process_says_that_cannot_be_read_is_told(
    decodings: tuple[Decoding, Decoding], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for the request does not wait for ever."""
    monkeypatch.setattr("toolspan.collector.decoding.read_spans", int)

    assert isinstance(outcome(decodings[1], LARGE), Exception)


@pytest.mark.parametrize("size", [1, 100_000])
def test_garbage_is_an_input_error(decodings: tuple[Decoding, Decoding], size: int) -> None:
    """With the same words, wherever it was read."""
    here, there = (outcome(each, b"\xff" * size, is_json=False) for each in decodings)

    assert isinstance(there, InputError)
    assert str(here) == str(there)


def test_a_process_that_ends_is_replaced(decodings: tuple[Decoding, Decoding]) -> None:
    """What it had is to be sent again."""
    _, there = decodings
    outcome(there, LARGE)
    [pid] = children()
    os.kill(pid, signal.SIGKILL)

    refused = [outcome(there, LARGE) for _ in range(20)]

    assert isinstance(refused[-1], Decoded)
    assert {UnavailableError, Decoded} >= {type(each) for each in refused}


def children() -> list[int]:
    """
    The processes that this one started to decode.
    """
    threads = Path("/proc/self/task").iterdir()
    found = [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]
    return [pid for pid in found if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


HERE = Decoding(Settings(hash_key=b"k"), processes=0)


@settings(max_examples=100, deadline=None)
@given(st.lists(spans(), min_size=1, max_size=3))
def test_whatever_was_read_comes_back_the_same(read: list[dict[str, object]]) -> None:
    """From another process."""
    decoded = outcome(HERE, build.json_line(read))

    assert isinstance(decoded, Decoded)
    assert decoded.spans == read_spans(encode(decoded.spans))


#: Prints the processes that decode, at once or when they are at work, and waits to be killed.
_COLLECTOR = """
import sys
from multiprocessing import active_children
from threading import Event
from toolspan.collector.decoding import Decoding
from toolspan.config import Settings

at_work = Event()
Decoding(Settings(), processes=1).decode(b"{}" + b" " * 100_000, is_json=True, done=lambda _: at_work.set())
if sys.argv[1] == "at work":
    at_work.wait()
print(*[process.pid for process in active_children()], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("when", ["beginning", "at work"])
def test_no_process_outlives_a_collector_that_is_killed(when: str) -> None:
    """Also one that had only begun."""
    command = [sys.executable, "-c", _COLLECTOR, when]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as collector:
        assert collector.stdout
        [pid] = map(int, collector.stdout.readline().split())
        process = os.pidfd_open(pid)
        try:
            collector.kill()
            ended, _, _ = select.select([process], [], [], _PATIENCE_S)
        finally:
            os.close(process)

    assert [process] == ended
