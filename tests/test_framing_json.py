"""
OTLP/JSON files are read request by request, on lines and in documents.
"""

import json

import pytest

from tests.otlp_files import SMALL_BYTES, Pipe, json_line, json_request, payloads, read, rejections
from toolspan.framing import Payload, read_payloads


class TestLines:
    """
    OTLP/JSON, one request per line.
    """

    def test_each_line_is_a_payload(self) -> None:
        """
        A line is a request, and says where it stood.
        """
        items = read(json_line("a") + b"\n" + json_line("b") + b"\n")

        assert [
            Payload(json_line("a"), True, "stdin line 1"),
            Payload(json_line("b"), True, "stdin line 2"),
        ] == items

    def test_blank_lines_count_but_are_nothing(self) -> None:
        """
        Blank lines, a byte-order mark and CRLF make no difference but to the line numbers.
        """
        items = read(b"\xef\xbb\xbf\r\n \r\n" + json_line("a") + b"\r\n\r\n" + json_line("b") + b"\r\n")

        assert [
            Payload(json_line("a"), True, "stdin line 3"),
            Payload(json_line("b"), True, "stdin line 5"),
        ] == items

    def test_last_line_needs_no_newline(self) -> None:
        """
        A file may end without a newline.
        """
        assert [json_line("a"), json_line("b")] == payloads(read(json_line("a") + b"\n" + json_line("b")))

    def test_cut_last_line_is_rejected(self) -> None:
        """
        What came before a cut line is read.
        """
        items = read(json_line("a") + b"\n" + json_line("b")[:-30])

        assert [json_line("a")] == payloads(items)
        assert [("stdin line 2", "truncated")] == rejections(items)

    def test_lines_of_a_pipe_come_out_as_they_come_in(self) -> None:
        """
        The first request is there before the second was written.
        """
        pipe = Pipe(json_line("a") + b"\n", json_line("b") + b"\n")
        items = read_payloads("-", stdin=pipe)

        first = next(items)

        assert (json_line("a"), 1) == (first[0], pipe.reads)

    def test_long_line_is_passed_over(self) -> None:
        """
        A line beyond the limit is counted, the lines around it are read.
        """
        long = json_line("x" * SMALL_BYTES)
        items = read(b"\n".join([json_line("a"), long, json_line("b"), long]), limit_bytes=SMALL_BYTES)

        assert [json_line("a"), json_line("b")] == payloads(items)
        assert [("stdin line 2", "too_large"), ("stdin line 4", "too_large")] == rejections(items)

    def test_long_first_line_is_passed_over(self) -> None:
        """
        A first line beyond the limit is no reason to read lines as a document.
        """
        items = read(json_line("x" * SMALL_BYTES) + b"\n" + json_line("a") + b"\n", limit_bytes=SMALL_BYTES)

        assert [json_line("a")] == payloads(items)

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"INFO started", "not_json"),
            (b'{"level": "info", "resourceSpans', "not_json"),
            (b'{"level": "info"}', "not_otlp"),
            (b'"text"', "not_otlp"),
            (b'{"resourceLogs": []}', "logs"),
            (b'{"resourceMetrics": []}', "metrics"),
            (b'{"resourceProfiles": []}', "profiles"),
            (b'{"a":' * 100_000, "not_json"),
        ],
    )
    def test_foreign_line_is_rejected(self, line: bytes, reason: str) -> None:
        """
        A line of something else is rejected by itself.
        """
        items = read(b"\n".join([json_line("a"), line, json_line("b")]))

        assert [json_line("a"), json_line("b")] == payloads(items)
        assert [("stdin line 2", reason)] == rejections(items)

    @pytest.mark.parametrize(
        "line",
        [
            b'{"resource_spans": []}',
            b"{}",
            b'{"note": "' + b"9" * 5000 + b'", "resourceSpans": []}',
            b'{"note": ' + b"9" * 5000 + b', "resourceSpans": []}',
            b"\xef\xbb\xbf" + json_line(),
        ],
        ids=["snake case", "empty", "other key first", "huge number", "byte-order mark"],
    )
    def test_odd_requests_are_requests(self, line: bytes) -> None:
        """
        What decodes to a request is one, however it is written.
        """
        items = read(json_line("a") + b"\n" + line + b"\n")

        assert [json_line("a"), line.removeprefix(b"\xef\xbb\xbf")] == payloads(items)

    def test_array_among_lines_is_taken_apart(self) -> None:
        """
        A line may be an array of requests.
        """
        items = read(json_line("a") + b"\n[" + json_line("b") + b"," + json_line("c") + b"]\n")

        assert [json_line("a"), json_line("b"), json_line("c")] == payloads(items)

    def test_tail_of_a_file_loses_its_first_line_only(self) -> None:
        """
        A file that starts in the middle of a line (`tail -c`, rotation) is read from the next line on.
        """
        items = read(json_line("a")[40:] + b"\n" + json_line("b") + b"\n")

        assert [json_line("b")] == payloads(items)
        assert [("stdin line 1", "not_json")] == rejections(items)


class TestDocuments:
    """
    OTLP/JSON in documents of many lines.
    """

    def test_pretty_printed_document_is_one_payload(self) -> None:
        """
        A document of many lines is one request, at the line where it starts.
        """
        document = json.dumps(json_request(), indent=2).encode()

        assert [Payload(document, True, "stdin line 2")] == read(b"\n" + document + b"\n")

    def test_documents_may_follow_each_other(self) -> None:
        """
        What `jq .` makes of lines is read like the lines.
        """
        documents = [json.dumps(json_request(name), indent=2).encode() for name in ("a", "b {", "c")]
        items = read(b"\n".join(documents))

        assert documents == payloads(items)
        lines = documents[0].count(b"\n") + 1
        assert [f"stdin line {1 + lines * number}" for number in range(3)] == [item.where for item in items]

    @pytest.mark.parametrize("separator", [b",", b",\n", b" ,\r\n  "])
    def test_array_is_its_elements(self, separator: bytes) -> None:
        """
        An array of requests is read element by element.
        """
        elements = [json_line("a"), json_line("b"), b"{}"]

        assert elements == payloads(read(b"[" + separator.join(elements) + b"]\n"))

    def test_objects_need_nothing_between_them(self) -> None:
        """
        Files without a final newline may have been joined.
        """
        assert [json_line("a"), json_line("b")] == payloads(read(json_line("a") + json_line("b")))

    def test_first_line_may_end_with_a_brace(self) -> None:
        """
        A first line that is an object's beginning is not taken for an object.
        """
        document = b'{"resourceSpans": [{"resource": {}\n}]}'

        assert [document] == payloads(read(document))

    def test_piped_document_may_break_anywhere(self) -> None:
        """
        The pieces in which a pipe delivers a document make no difference.
        """
        document = b'{"resourceSpans": [{"resource": {}\n}]}'
        pipe = Pipe(*(document[place : place + 1] for place in range(len(document))))

        assert [document] == payloads(read_payloads("-", stdin=pipe))

    def test_large_array_streams(self) -> None:
        """
        An array larger than the limit is no problem, since its elements are not.
        """
        elements = [json_line(str(number)) for number in range(100)]
        items = read(b"[" + b",".join(elements) + b"]", limit_bytes=SMALL_BYTES)

        assert elements == payloads(items)

    def test_long_document_is_read(self) -> None:
        """
        A document may be longer than what is read at a time.
        """
        document = json.dumps(json_request("x" * 600_000), indent=2).encode()

        assert [document, document] == payloads(read(document + b"\n" + document))

    def test_large_document_is_passed_over(self) -> None:
        """
        A document beyond the limit is counted, those around it are read.
        """
        large = json.dumps(json_request("x" * 600_000), indent=2).encode()
        documents = [json.dumps(json_request(name), indent=2).encode() for name in ("a", "b")]
        items = read(b"\n".join([documents[0], large, documents[1]]), limit_bytes=SMALL_BYTES)

        assert documents == payloads(items)
        assert [(f"stdin line {len(documents[0].splitlines()) + 1}", "too_large")] == rejections(items)

    def test_cut_document_is_rejected(self) -> None:
        """
        What came before a cut document is read.
        """
        document = json.dumps(json_request(), indent=2).encode()
        items = read(document + b"\n" + document[:-20])

        assert [document] == payloads(items)
        assert ["truncated"] == [reason for _, reason in rejections(items)]

    def test_malformed_document_is_passed_over(self) -> None:
        """
        Reading goes on at the next line that starts with a brace.
        """
        document = json.dumps(json_request(), indent=2).encode()
        items = read(b"\n".join([document, document.replace(b"[", b"(", 1), document]))

        assert [document, document] == payloads(items)
        assert ["not_json"] == [reason for _, reason in rejections(items)]

    def test_nesting_is_bounded(self) -> None:
        """
        A document nested beyond reason is rejected, not a crash, and soon given up.
        """
        items = read(b'{"a":\n' * 50_000)

        assert [("stdin line 1", "not_json"), ("stdin line 100", "damaged")] == [
            rejections(items)[0],
            rejections(items)[-1],
        ]
