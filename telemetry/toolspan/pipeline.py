"""
Files in, rows out: framing → decoder → store, with everything that was not kept counted and said.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from toolspan.arguments import ArgumentHasher
from toolspan.config import Settings
from toolspan.errors import InputError
from toolspan.framing import Rejection, read_payloads
from toolspan.otlp import Decoder, Observer
from toolspan.recognise import Recogniser
from toolspan.store import Store


@dataclass(slots=True)
class Intake:
    """
    What became of the spans of some files.

    *spans* were read; *new*, *duplicates* and *conflicts* of them reached the store, *late* ones came after their
    group was closed; *rejected* counts, by reason, the spans that could not be kept and the payloads that could not be
    read. *payloads* is how many requests there were at all.
    """

    payloads: int = 0
    spans: int = 0
    new: int = 0
    duplicates: int = 0
    conflicts: int = 0
    late: int = 0
    rejected: Counter[str] = field(default_factory=Counter[str])


def make_decoder(settings: Settings, *, observer: Observer | None = None) -> Decoder:
    """
    A decoder with the user's rules and hash key.
    """
    hasher = ArgumentHasher(settings.hash_key, ignored=settings.ignored_arguments)
    return Decoder(Recogniser(settings.rules, hasher), observer=observer)


def read_files(
    paths: Iterable[str],
    *,
    decoder: Decoder,
    store: Store,
    intake: Intake | None = None,
    stdin: BinaryIO | None = None,
    on_bytes: Callable[[int], None] | None = None,
    on_problem: Callable[[str], None] | None = None,
) -> Intake:
    """
    Reads OTLP files into *store*.

    Args:
        paths: files, `-` for *stdin*.
        intake: is counted in and given back, for whoever wants to know how far an interrupted read came.
        on_bytes: called with the number of bytes of a file that were read since the last call.
        on_problem: called with one line for each part of a file that could not be read; the rest is read.

    Raises:
        InputError: a file cannot be opened at all.
    """
    intake = Intake() if intake is None else intake
    for path in paths:
        for payload in read_payloads(path, stdin=stdin, on_bytes=on_bytes):
            if isinstance(payload, Rejection):
                intake.rejected[payload.reason] += 1
                _tell(on_problem, f"{payload.where}: {payload.detail}")
                continue
            intake.payloads += 1
            try:
                decoded = decoder.decode(payload.data, is_json=payload.is_json)
            except InputError as error:
                intake.rejected["not_otlp"] += 1
                _tell(on_problem, f"{payload.where}: {error}")
                continue
            for reason, count in decoded.rejected.items():
                intake.rejected[reason] += count
                _tell(on_problem, f"{payload.where}: {count} span(s) rejected: {REJECTIONS[reason]}")
            intake.spans += len(decoded.spans) + sum(decoded.rejected.values())
            result = store.append(decoded.spans)
            intake.new += result.new
            intake.duplicates += result.duplicates
            intake.conflicts += result.conflicts
            intake.late += result.late
    return intake


#: What is wrong with spans that are rejected, by reason.
REJECTIONS: Final = {
    "trace_id": "trace id is not 16 bytes, or zero",
    "span_id": "span id is not 8 bytes, or zero",
    "time": "no time, or one outside 1970 to 2262",
}


def _tell(on_problem: Callable[[str], None] | None, line: str) -> None:
    if on_problem is not None:
        on_problem(line)
