"""
Laws of reading files: what was written is read, in whatever framing, compression and pieces it comes.
"""

import gzip
import json
from collections.abc import Sequence

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.otlp_files import Pipe, framed, json_request, log_record, metric, payloads, read, rejections, request, span
from toolspan.framing import Payload, read_payloads

framings = st.sampled_from(["whole", "varint", "u32"])
pieces = st.lists(st.integers(1, 500), min_size=1)

spans = st.builds(span, st.text(max_size=300), number=st.integers(1, 2**63))
requests = st.tuples(st.lists(spans, max_size=4), st.text()).map(lambda drawn: request(*drawn[0], service=drawn[1]))
messages = st.lists(requests | st.just(b"") | st.just(b"\n\x00"), max_size=8)
names = st.lists(st.text(max_size=200), min_size=1, max_size=8)


def cut(content: bytes, sizes: Sequence[int]) -> list[bytes]:
    """
    *content* in pieces of the given *sizes*, over and over.
    """
    found: list[bytes] = []
    while content:
        size = sizes[len(found) % len(sizes)]
        found.append(content[:size])
        content = content[size:]
    return found


@settings(max_examples=150)
@given(messages, framings, st.booleans(), pieces)
def test_messages_are_read_as_written(
    written: list[bytes], framing: str, is_compressed: bool, sizes: list[int]
) -> None:
    """
    Any messages come back in any framing, compressed or not, in any pieces; a whole file is their concatenation.
    """
    # Zeros at the start are taken for u32, in which they are one empty message and not four.
    assume(framing != "varint" or written[:1] != [b""])
    # A file of nothing but zeros was never written.
    assume(any(written) or not written)
    content = framed(written, framing)

    items = list(read_payloads("-", stdin=Pipe(*cut(gzip.compress(content) if is_compressed else content, sizes))))

    expected = written if framing != "whole" else [b"".join(written)] if any(written) else []
    assert (expected, []) == (payloads(items), rejections(items))


@settings(max_examples=100)
@given(names, st.sampled_from([None, 0, 2]), st.sampled_from(["\n", "\r\n\n", ",", ", "]), pieces, st.booleans())
def test_json_is_read_as_written(
    written: list[str], indent: int | None, between: str, sizes: list[int], is_compressed: bool
) -> None:
    """
    Any requests come back from lines, documents and arrays, whatever is in their strings.
    """
    documents = [json.dumps(json_request(name), indent=indent, ensure_ascii=False).encode() for name in written]
    content = between.encode().join(documents)
    content = b"[" + content + b"]" if between.startswith(",") else content

    items = list(read_payloads("-", stdin=Pipe(*cut(gzip.compress(content) if is_compressed else content, sizes))))

    assert [Payload(document, True, item.where) for document, item in zip(documents, items, strict=True)] == items


@settings(max_examples=150)
@given(messages, framings, st.data())
def test_cut_messages_give_what_came_before(written: list[bytes], framing: str, data: st.DataObject) -> None:
    """
    However a file is cut, what is read is a beginning of what was written, and at most one thing is rejected.
    """
    content = framed(written, framing)
    end = data.draw(st.integers(0, len(content)))

    items = read(content[:end])

    assert b"".join(written).startswith(b"".join(payloads(items)))
    assert len(rejections(items)) <= 1


@settings(max_examples=100)
@given(names, st.sampled_from([None, 2]), st.data())
def test_cut_json_gives_what_came_before(written: list[str], indent: int | None, data: st.DataObject) -> None:
    """
    However a file is cut, whole requests are read, and at most one thing is rejected.
    """
    documents = [json.dumps(json_request(name), indent=indent).encode() for name in written]
    content = b"\n".join(documents) + b"\n"
    end = data.draw(st.integers(0, len(content)))

    items = read(content[:end])

    assert documents[: len(payloads(items))] == payloads(items)
    assert len(rejections(items)) <= 1


@settings(max_examples=300)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode), pieces, st.integers(16, 400))
def test_anything_can_be_read(content: bytes, sizes: list[int], limit_bytes: int) -> None:
    """
    Reading never fails whatever it is given, makes nothing up, and does not depend on the pieces it comes in.
    """
    items = read(content, limit_bytes=limit_bytes)

    assert sum(map(len, payloads(items))) <= len(content)
    assert all(len(data) <= limit_bytes for data in payloads(items))
    assert items == list(read_payloads("-", stdin=Pipe(*cut(content, sizes)), limit_bytes=limit_bytes))


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from([request(span()), request(log_record()), request(metric()), b""])),
    st.sampled_from(["varint", "u32"]),
)
def test_only_spans_are_read(written: list[bytes], framing: str) -> None:
    """
    Where a file does not start with spans, other signals in it are told apart.
    """
    first = request(log_record())
    items = read(framed([first, *written], framing))

    assert [message for message in written if message in (request(span()), b"")] == payloads(items)
