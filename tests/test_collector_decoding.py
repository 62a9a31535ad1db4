"""
Requests decoded here or in another process: the same facts, and the same errors.
"""

import os
import signal
from collections.abc import Generator
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests import otlp_builder as build
from tests.integration.processes import otlp_trace_of
from toolspan.collector.decoding import Decoding
from toolspan.config import load_settings
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
    settings = load_settings(environ={"TOOLSPAN_HASH_KEY": "k"}, config_path=str(config))
    pair = Decoding(settings, processes=0), Decoding(settings, processes=1)
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
