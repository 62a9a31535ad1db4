"""
What something that is no OTLP trace looks like, and what to do about it.

People hand over what they have: the SDK's console output, a backend's own JSON, a compressed file, a page that
says "log in". Each is recognised by what is peculiar to it, so that the one line they get names the way out.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from toolspan.framing.payload import Reason


class Verdict(NamedTuple):
    """
    Why something is not read: one word, and a sentence with the remedy.
    """

    reason: Reason
    detail: str


_OTHER_SIGNAL = "holds OTLP {}, not spans; give the file that the traces pipeline writes"

#: What OTLP files hold besides traces.
OTHER_SIGNALS: Mapping[Reason, Verdict] = MappingProxyType(
    {reason: Verdict(reason, _OTHER_SIGNAL.format(reason)) for reason in (Reason.LOGS, Reason.METRICS, Reason.PROFILES)}
)

#: Bytes that no text has but every OTLP message has: tags and lengths.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")

#: As empty messages they would be 64 in one framing and 16 in another: nobody writes so many, or any.
ZEROS = bytes(64)

#: How a file comes to hold zeros.
UNWRITTEN = "it was never written, or lost as the disk was full or the machine stopped; copy it anew"

#: Beginnings of binary files.
_BINARY = (
    (rb"\x28\xb5\x2f\xfd", Reason.COMPRESSED, "is compressed with zstd; decompress it first (zstd -d)"),
    (
        rb".{4}\x28\xb5\x2f\xfd",
        Reason.COMPRESSED,
        "holds messages that the Collector's file exporter compressed one by one; let it write without `compression`",
    ),
    (rb"\x1f\x8b", Reason.COMPRESSED, "is gzip inside gzip; decompress it once (gunzip)"),
    (rb"BZh", Reason.COMPRESSED, "is compressed with bzip2; decompress it first (bunzip2)"),
    (rb"\xfd7zXZ\x00", Reason.COMPRESSED, "is compressed with xz; decompress it first (unxz)"),
    (rb"PK\x03\x04", Reason.COMPRESSED, "is a zip archive; unpack it first (unzip)"),
    (rb"\xff\xfe|\xfe\xff", Reason.ENCODING, "is UTF-16 text, as PowerShell writes it; save it as UTF-8"),
    (rb".{8}DUCK", Reason.NOT_OTLP, "is a DuckDB file; a store is given with --store"),
    (rb"SQLite format 3\x00", Reason.NOT_OTLP, "is an SQLite database; export its spans as OTLP"),
    (rb"PAR1", Reason.NOT_OTLP, "is a Parquet file; export its spans as OTLP"),
    (rb"\x00{64}|\x00+\Z", Reason.NOT_OTLP, f"starts with zero bytes: {UNWRITTEN}"),
    (rb"", Reason.NOT_OTLP, "is binary, but no OTLP message in any known framing (whole, varint, u32)"),
)

#: Beginnings of texts.
_TEXT = (
    (rb"(?i)\s*<(!doctype html|html|head|body)", "looks like a web page: an error or login page saved by mistake"),
    (rb"\s*<[?!]?\w", "looks like XML; export OTLP instead"),
    (
        rb"\s*\{\s*\w+\s*:",
        "looks like a console exporter's output; export OTLP instead, for example to the Collector's file exporter",
    ),
    (rb"\s*[{\[]", "starts like JSON but is none; give OTLP/JSON, one request per line"),
    (rb"[^\n,;\t]+([,;\t])[^\n,;\t]*(\1[^\n,;\t]*)+\r?\n", "looks like a table (CSV); export OTLP instead"),
    (rb"", "is text, but no OTLP; give OTLP/JSON lines, as the Collector's file exporter writes them"),
)

#: Keys of JSON objects, the first row whose keys are all there decides.
_OBJECTS = (
    ({"resourceLogs"}, OTHER_SIGNALS[Reason.LOGS]),
    ({"resource_logs"}, OTHER_SIGNALS[Reason.LOGS]),
    ({"resourceMetrics"}, OTHER_SIGNALS[Reason.METRICS]),
    ({"resource_metrics"}, OTHER_SIGNALS[Reason.METRICS]),
    ({"resourceProfiles"}, OTHER_SIGNALS[Reason.PROFILES]),
    ({"resource_profiles"}, OTHER_SIGNALS[Reason.PROFILES]),
    ({"scopeSpans"}, 'lacks the list around it; wrap it: {"resourceSpans": [...]}'),
    ({"batches"}, "looks like Tempo's JSON; rename its key: jq -c '{resourceSpans: .batches}'"),
    ({"trace"}, "looks like Tempo's JSON; take what is in `trace`: jq -c .trace"),
    (
        {"context", "parent_id", "start_time"},
        "looks like the SDK's ConsoleSpanExporter; use an OTLP exporter, for example to the Collector's file exporter",
    ),
    ({"data", "errors"}, "looks like Jaeger's JSON; export OTLP instead"),
    ({"traceID"}, "looks like Jaeger's JSON; export OTLP instead"),
    ({"traceId", "id"}, "looks like Zipkin's JSON; export OTLP instead"),
    ({"traceId", "spanId"}, "is a single span without its request; export OTLP/JSON requests instead"),
    (set[str](), "is JSON, but no OTLP request: it has no `resourceSpans`; export OTLP/JSON, one request per line"),
)


def is_text(head: bytes) -> bool:
    """
    *head* has no byte that only binary files have.
    """
    return _CONTROL.search(head) is None


def is_unwritten(head: bytes) -> bool:
    """
    *head* starts with zeros as no file of messages does, or is nothing else.
    """
    return head.startswith(ZEROS) or not head.strip(b"\0")


def describe(head: bytes) -> Verdict:
    """
    What a file with the beginning *head* looks like.
    """
    if is_text(head):
        detail = next(detail for pattern, detail in _TEXT if re.match(pattern, head))
        return Verdict(Reason.NOT_OTLP, detail)
    rows = (Verdict(reason, detail) for magic, reason, detail in _BINARY if re.match(magic, head, re.DOTALL))
    return next(rows)


def describe_object(keys: frozenset[str]) -> Verdict:
    """
    What a JSON object with these *keys*, none of which is a trace's, looks like.
    """
    found = next(row for needed, row in _OBJECTS if needed <= keys)
    return found if isinstance(found, Verdict) else Verdict(Reason.NOT_OTLP, found)
