"""
OTLP protobuf files are read message by message, in each of three framings.
"""

import pytest

from tests.otlp_files import (
    SMALL_BYTES,
    Pipe,
    field,
    framed,
    json_line,
    log_record,
    metric,
    payloads,
    read,
    rejections,
    request,
    span,
    varint,
)
from toolspan.framing import Payload, Rejection, read_payloads

FRAMINGS = ["whole", "varint", "u32"]


class TestProtobuf:
    """
    OTLP protobuf in three framings.
    """

    @pytest.mark.parametrize("framing", ["varint", "u32"])
    def test_each_message_is_a_payload(self, framing: str) -> None:
        """
        A message is a request, and says where it stood.
        """
        messages = [request(span("a")), b"", request(span("b"), span("c"))]

        assert [
            Payload(message, False, f"stdin message {number}") for number, message in enumerate(messages, 1)
        ] == read(framed(messages, framing))

    def test_whole_file_may_be_one_message(self) -> None:
        """
        A saved request body is one payload.
        """
        message = request(span("a"), span("b"))

        assert [Payload(message, False, "stdin message 1")] == read(message)

    def test_concatenated_messages_are_one(self) -> None:
        """
        Protobuf messages one after the other are one message, as protobuf has it.
        """
        message = request(span("a")) + request(span("b"))

        assert [message] == payloads(read(message))

    @pytest.mark.parametrize("size", [1, 4, 63, 64, 4096, 4097, 1_000_000])
    def test_zero_bytes_are_one_rejection(self, size: int) -> None:
        """
        Not as many empty messages: such a file was never written.
        """
        [item] = read(bytes(size))

        assert isinstance(item, Rejection)
        assert ("stdin", "not_otlp") == (item.where, item.reason)
        assert "zero bytes" in item.detail

    def test_zero_bytes_are_not_read_to_their_end(self) -> None:
        """
        Four gigabytes of them are four megabytes of gzip.
        """
        pipe = Pipe(*[bytes(65536)] * 1000)

        list(read_payloads("-", stdin=pipe))

        assert pipe.read1(1)

    @pytest.mark.parametrize("framing", ["varint", "u32"])
    def test_zero_bytes_after_messages_are_one_rejection(self, framing: str) -> None:
        """
        A file that was extended before it was written, or whose disk was full.
        """
        content = framed([request(span("a"))], framing)

        kept, item = read(content + bytes(100_000))

        assert [request(span("a"))] == payloads([kept])
        assert isinstance(item, Rejection)
        assert ("stdin message 2", "damaged") == (item.where, item.reason)
        assert "zero bytes" in item.detail

    @pytest.mark.parametrize("framing", FRAMINGS)
    def test_cut_message_is_rejected(self, framing: str) -> None:
        """
        What came before a cut message is read, wherever the cut is.
        """
        first, second = request(span("a")), request(span("b"))
        content = framed([first, second], framing)
        start = len(framed([first], framing))
        results = [read(content[:end]) for end in range(start + 1, len(content))]

        assert [[first]] * len(results) == [payloads(items) for items in results]
        assert [[("stdin message 2", "truncated")]] * len(results) == [rejections(items) for items in results]

    @pytest.mark.parametrize("framing", FRAMINGS)
    def test_cut_only_message_is_rejected(self, framing: str) -> None:
        """
        A file that ends within its first message says so.
        """
        items = read(framed([request(span("a" * 100))], framing)[:-10])

        assert [("stdin message 1", "truncated")] == rejections(items)

    @pytest.mark.parametrize("framing", FRAMINGS)
    def test_large_message_is_passed_over(self, framing: str) -> None:
        """
        A message beyond the limit is counted, those around it are read.
        """
        small, large = request(span("a")), request(span("x" * SMALL_BYTES))
        items = read(framed([small, large, small], framing), limit_bytes=SMALL_BYTES)

        assert [small, small] == payloads(items)
        assert [("stdin message 2", "too_large")] == rejections(items)

    @pytest.mark.parametrize("framing", FRAMINGS)
    def test_cut_large_message_is_cut(self, framing: str) -> None:
        """
        A message beyond the limit that ends early is one rejection.
        """
        small, large = request(span("a")), request(span("x" * SMALL_BYTES))
        items = read(framed([small, large], framing)[:-1], limit_bytes=SMALL_BYTES)

        assert [("stdin message 2", "truncated")] == rejections(items)

    def test_large_whole_message_is_split(self) -> None:
        """
        One message beyond the limit comes out in parts, each a message.
        """
        parts = [request(span("x" * 1000, number=number)) for number in range(1, 10)]
        items = read(b"".join(parts), limit_bytes=SMALL_BYTES)

        assert b"".join(parts) == b"".join(payloads(items))
        assert [] == rejections(items)

    @pytest.mark.parametrize("damage", [b"\x07garbage", b"\xff" * 20])
    @pytest.mark.parametrize("framing", FRAMINGS)
    def test_damaged_file_is_read_up_to_the_damage(self, framing: str, damage: bytes) -> None:
        """
        Where lengths no longer fit nothing behind them can be trusted.
        """
        messages = [request(span(str(number))) for number in range(100)]
        content = framed(messages, framing)
        items = read(content + damage + content)

        assert b"".join(messages) == b"".join(payloads(items))
        assert ["damaged"] == [reason for _, reason in rejections(items)]

    @pytest.mark.parametrize(("record", "reason"), [(log_record(), "logs"), (metric(), "metrics")])
    @pytest.mark.parametrize("framing", ["varint", "u32"])
    def test_other_signals_are_told_apart(self, framing: str, record: bytes, reason: str) -> None:
        """
        Logs and metrics have the same outer shape, but are not taken for spans.
        """
        items = read(framed([request(record), request(span()), request(record)], framing))

        assert [request(span())] == payloads(items)
        assert [("stdin message 1", reason), ("stdin message 3", reason)] == rejections(items)

    def test_odd_spans_are_left_to_the_decoder(self) -> None:
        """
        A span with a wrong id is no metric: it is for the decoder to reject, and to count as a span.
        """
        odd = request(field(1, b"short") + field(7, 1))

        assert [odd] == payloads(read(framed([odd], "u32")))

    @pytest.mark.parametrize("body", [b"\x0b\x00\x00", b"\x0a" + b"\xff" * 11, b"\x08\x01\x00"])
    @pytest.mark.parametrize("framing", FRAMINGS)
    def test_what_protobuf_cannot_be_is_rejected(self, framing: str, body: bytes) -> None:
        """
        Groups, endless lengths and fields of a wrong type are in no request.
        """
        items = read(framed([field(1, body)], framing))

        assert [("stdin", "not_otlp")] == rejections(items)

    def test_request_without_spans_is_a_request(self) -> None:
        """
        A resource alone is no other signal.
        """
        assert [request()] == payloads(read(framed([request()], "u32")))

    def test_framed_json_is_json(self) -> None:
        """
        The Collector frames JSON with lengths where it compresses it.
        """
        items = read(framed([json_line("a"), json_line("b")], "u32"))

        assert [
            Payload(json_line("a"), True, "stdin message 1"),
            Payload(json_line("b"), True, "stdin message 2"),
        ] == items

    def test_unknown_fields_are_tolerated(self) -> None:
        """
        A newer OTLP may have fields that this one does not know.
        """
        newer = field(1, field(1, b"") + field(9, b"new") + field(10, 7) + varint(11 << 3) + b"\x05")

        assert [newer, newer] == payloads(read(framed([newer, newer], "varint")))

    def test_pieces_of_a_pipe_make_no_difference(self) -> None:
        """
        Messages arrive whole, however the pipe cut them.
        """
        messages = [request(span(str(number))) for number in range(5)]
        content = framed(messages, "varint")
        pipe = Pipe(*(content[place : place + 7] for place in range(0, len(content), 7)))

        assert messages == payloads(read_payloads("-", stdin=pipe))
