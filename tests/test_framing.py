"""
Files are opened, inflated and recognised; what is not OTLP gets one clear line.
"""

import gzip
import json
import os
import threading
import tracemalloc
import zlib
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path

import pytest

from tests.otlp_files import Pipe, framed, json_line, payloads, read, rejections, request, span
from toolspan.errors import InputError
from toolspan.framing import Payload, Reason, Rejection, read_payloads


class TestSources:
    """
    What can be wrong with a path, and what cannot.
    """

    def test_file_is_named_in_what_is_read(self, tmp_path: Path) -> None:
        """
        A payload says which file it came from.
        """
        path = tmp_path / "spans.jsonl"
        path.write_bytes(json_line() + b"\n")

        assert [Payload(json_line(), True, f"{path} line 1")] == list(read_payloads(str(path)))

    def test_missing_file_is_named_with_what_was_meant(self, tmp_path: Path) -> None:
        """
        A typing error is answered with the file that is there.
        """
        (tmp_path / "spans.jsonl").touch()
        path = tmp_path / "span.jsonl"

        with pytest.raises(InputError) as caught:
            list(read_payloads(str(path)))

        assert f"No file {path}; did you mean {tmp_path / 'spans.jsonl'}?" == str(caught.value)

    def test_missing_directory_is_named(self, tmp_path: Path) -> None:
        """
        A missing directory is said to be missing.
        """
        path = tmp_path / "none" / "spans.jsonl"

        with pytest.raises(InputError) as caught:
            list(read_payloads(str(path)))

        assert f"No file {path}; there is no directory {path.parent} either" == str(caught.value)

    def test_directory_is_refused(self, tmp_path: Path) -> None:
        """
        A directory is answered with how to name its files.
        """
        with pytest.raises(InputError) as caught:
            list(read_payloads(str(tmp_path)))

        assert f"{tmp_path} is a directory; name the files in it, for example {tmp_path}/*.jsonl" == str(caught.value)

    @pytest.mark.parametrize(
        ("error", "text"),
        [
            (PermissionError(13, "Permission denied"), "permission denied; check its owner and mode (ls -l)"),
            (OSError(40, "Too many levels of symbolic links"), "too many levels of symbolic links"),
            (ValueError("embedded null byte"), "embedded null byte"),
        ],
    )
    def test_unreadable_file_is_refused(self, error: Exception, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        Whatever keeps a file from being opened is one line.
        """

        def refuse(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(Path, "open", refuse)

        with pytest.raises(InputError) as caught:
            list(read_payloads("spans.jsonl"))

        assert f"Cannot read spans.jsonl: {text}" == str(caught.value)

    def test_failing_device_is_an_error_of_input(self) -> None:
        """
        A read that fails halfway is one line, too.
        """

        class Broken(BytesIO):
            def read1(self, size: int | None = -1, /) -> bytes:
                del size
                raise OSError(5, "Input/output error")

        with pytest.raises(InputError) as caught:
            list(read_payloads("-", stdin=Broken()))

        assert "Cannot read stdin: input/output error" == str(caught.value)

    def test_stdin_is_the_process_s_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        Where no other is given, `-` is the process's stdin.
        """
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(json_line())))

        assert [json_line()] == payloads(read_payloads("-"))

    def test_closed_stdin_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        A process started without stdin is told so.
        """
        monkeypatch.setattr("sys.stdin", None)

        with pytest.raises(InputError) as caught:
            list(read_payloads("-"))

        assert "Cannot read stdin: it is closed; name a file instead" == str(caught.value)

    @pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
    def test_nothing_is_nothing(self, content: bytes) -> None:
        """
        An empty file holds no requests and is no error.
        """
        assert [] == read(content)

    def test_null_device_is_empty(self) -> None:
        """
        `/dev/null` can stand for no file.
        """
        assert [] == list(read_payloads(os.devnull))

    def test_fifo_is_read(self, tmp_path: Path) -> None:
        """
        A named pipe is read as its writer writes.
        """
        path = tmp_path / "pipe"
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(json_line("a") + b"\n",))
        writer.start()

        found = payloads(read_payloads(str(path)))
        writer.join()

        assert [json_line("a")] == found

    def test_name_is_one_printable_line(self, tmp_path: Path) -> None:
        """
        A file name cannot break a message, nor the terminal it is shown on.
        """
        path = tmp_path / "a\n\x1b[31m\udcff"
        path.write_bytes(b"no spans")

        assert all(item.where.isprintable() for item in read_payloads(str(path)))

    def test_progress_is_the_size_on_disk(self, tmp_path: Path) -> None:
        """
        Progress counts the bytes of the file, not those that are in it.
        """
        path = tmp_path / "spans.jsonl.gz"
        path.write_bytes(gzip.compress(b"\n".join([json_line()] * 1000)))
        seen: list[int] = []

        list(read_payloads(str(path), on_bytes=seen.append))

        assert path.stat().st_size == sum(seen)

    def test_file_is_closed_when_reading_stops(self, tmp_path: Path) -> None:
        """
        Whoever stops reading halfway leaves no file open.
        """
        path = tmp_path / "spans.jsonl"
        path.write_bytes(b"\n".join([json_line()] * 3))
        before = len(list(Path("/proc/self/fd").iterdir()))

        items = read_payloads(str(path))
        list(islice(items, 1))
        del items

        assert before == len(list(Path("/proc/self/fd").iterdir()))


class TestGzip:
    """
    Compressed files, known by their content.
    """

    @pytest.mark.parametrize("content", [json_line("a") + b"\n", framed([request(span())], "u32")])
    def test_gzip_makes_no_difference(self, content: bytes) -> None:
        """
        A compressed file is read as what is in it.
        """
        assert read(content) == read(gzip.compress(content))

    def test_members_are_one_file(self) -> None:
        """
        Compressed files may have been joined, or padded with zeros.
        """
        members = b"".join(gzip.compress(json_line(name) + b"\n") + bytes(7) for name in "abc")
        pipe = Pipe(*(members[place : place + 1] for place in range(len(members))))

        assert [json_line("a"), json_line("b"), json_line("c")] == payloads(read(members))
        assert read(members) == list(read_payloads("-", stdin=pipe))

    def test_cut_gzip_gives_what_came_before(self) -> None:
        """
        A cut file is one rejection, of the file and not also of its last line.
        """
        lines = [json_line(os.urandom(50).hex()) for _ in range(100)]
        items = read(gzip.compress(b"\n".join(lines))[:-500])
        found = payloads(items)

        assert lines[: len(found)] == found
        assert len(found) > 50
        assert [("stdin", "truncated")] == rejections(items)

    def test_damaged_gzip_gives_what_came_before(self) -> None:
        """
        Damage is one rejection; members before it are read.
        """
        damaged = bytearray(gzip.compress(json_line("b") + b"\n"))
        damaged[-6] ^= 0xFF
        items = read(gzip.compress(json_line("a") + b"\n") + bytes(damaged))

        assert [json_line("a")] == payloads(items)
        assert [("stdin", "gzip")] == rejections(items)

    def test_what_follows_gzip_is_rejected(self) -> None:
        """
        Bytes behind the last member that are no gzip are not read, and said.
        """
        items = read(gzip.compress(json_line("a") + b"\n") + b"more")

        assert [json_line("a")] == payloads(items)
        assert [("stdin", "gzip")] == rejections(items)

    def test_bomb_takes_no_memory(self) -> None:
        """
        What inflates a thousandfold is passed over in a few megabytes.
        """
        deflate = zlib.compressobj(wbits=31)
        bomb = deflate.compress(json_line("a") + b"\n")
        piece = bytes(1 << 20)
        bomb += b"".join(deflate.compress(piece) for _ in range(64)) + deflate.compress(b"\n" + json_line("b"))
        bomb += deflate.flush()
        tracemalloc.start()

        found = payloads(read(bomb, limit_bytes=1 << 20))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert [json_line("a"), json_line("b")] == found
        assert peak < 16 << 20


class TestForeign:
    """
    What people hand over instead of OTLP, and the way out.
    """

    @pytest.mark.parametrize(
        ("content", "reason", "words"),
        [
            (b"time,tool,status\n1,search,ok\n", "not_otlp", "CSV"),
            (b"<!DOCTYPE html><html></html>", "not_otlp", "web page"),
            (b'<?xml version="1.0"?><a/>', "not_otlp", "XML"),
            (b"2026-05-04 INFO started\n", "not_otlp", "is text"),
            (b"{ resource: { attributes: {} } }", "not_otlp", "console exporter"),
            (b"[1, 2]", "not_otlp", "starts like JSON"),
            (b"\x28\xb5\x2f\xfd\x00\x00", "compressed", "zstd -d"),
            (b"\x00\x00\x00\x09\x28\xb5\x2f\xfd\x00\x00", "compressed", "without `compression`"),
            (b"BZh91AY&SY\x00", "compressed", "bunzip2"),
            (b"\xfd7zXZ\x00\x00", "compressed", "unxz"),
            (b"PK\x03\x04\x14\x00", "compressed", "unzip"),
            (gzip.compress(gzip.compress(b"", mtime=0), mtime=0), "compressed", "gunzip"),
            ('{"resourceSpans": []}'.encode("utf-16"), "encoding", "UTF-8"),
            (b"\x00\x01\x02\x03\x04\x05\x06\x07DUCK\x40\x00", "not_otlp", "--store"),
            (b"SQLite format 3\x00\x10", "not_otlp", "SQLite"),
            (b"PAR1\x15\x00", "not_otlp", "Parquet"),
            (b"\x89PNG\r\n\x1a\n\x00", "not_otlp", "is binary"),
        ],
    )
    def test_file_is_recognised(self, content: bytes, reason: str, words: str) -> None:
        """
        A file of something else is one rejection that says what it looks like.
        """
        [item] = read(content)

        assert isinstance(item, Rejection)
        assert ("stdin", reason) == (item.where, item.reason)
        assert words in item.detail

    @pytest.mark.parametrize(
        ("document", "words"),
        [
            ('{"name": "x", "context": {}, "parent_id": null, "start_time": "2026"}', "ConsoleSpanExporter"),
            ('{"data": [{"traceID": "1", "spans": []}], "errors": null}', "Jaeger"),
            ('[{"traceID": "1", "spans": []}]', "Jaeger"),
            ('[{"traceId": "1", "id": "2", "localEndpoint": {}}]', "Zipkin"),
            ('{"traceId": "1", "spanId": "2", "name": "x"}', "single span"),
            ('{"resource": {}, "scopeSpans": []}', "wrap it"),
            ('{"batches": []}', "jq -c '{resourceSpans: .batches}'"),
            ('{"trace": {"resourceSpans": []}}', "jq -c .trace"),
            ('{"resourceLogs": []}', "OTLP logs"),
            ('{"resource_metrics": []}', "OTLP metrics"),
            ('{"anything": 1}', "no `resourceSpans`; export OTLP/JSON, one request per line"),
        ],
    )
    @pytest.mark.parametrize("indent", [None, 2])
    def test_json_is_recognised(self, document: str, words: str, indent: int | None) -> None:
        """
        Another tool's JSON is one rejection that says whose it looks like, pretty-printed or not.
        """
        [item] = read(json.dumps(json.loads(document), indent=indent).encode())

        assert isinstance(item, Rejection)
        assert "stdin line" in item.where
        assert words in item.detail

    def test_content_is_never_quoted(self) -> None:
        """
        What was read stays out of messages: it may be anybody's data.
        """
        lines = [b"secret", b'{"secret": 1}', b'{"secret": [}', b"secret,secret\nsecret,1\n", b"\x00secret"]
        found = [str(item) for line in lines for item in read(line) + read(json_line() + b"\n" + line)[1:]]

        assert [] == [text for text in found if "secret" in text]

    def test_rejection_reads_as_one_line(self) -> None:
        """
        The text of a rejection is what a person needs.
        """
        rejection = Rejection("spans.pb message 2", Reason.TRUNCATED, "ends after 5 of its 9 bytes: the file was cut")

        assert "spans.pb message 2: ends after 5 of its 9 bytes: the file was cut" == str(rejection)
