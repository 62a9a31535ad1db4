"""
Two receivers to measure a collector against: what little it takes to receive spans, and how fast it can be done.

    python benchmarks/floors.py plain|best FILE.duckdb

`plain` parses each request with the stock classes, reads every attribute, and inserts and commits it as one Arrow
table: the sixty lines that anybody would write. `best` is the fastest we know with Python and DuckDB: requests decoded
to Arrow by ptars (Rust) through a descriptor of the few fields that are read, five attributes of each span as columns,
one commit for all requests that wait, a late checkpoint, narrow rows. Neither classifies, links, counts or
deduplicates. Both acknowledge after the commit, print the port that they listen on, and answer `GET /count` with the
number of spans that a query finds.
"""

import asyncio
import queue
import sys
import threading
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

import duckdb
import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

# neither has types
pa: Any = import_module("pyarrow")
pc: Any = import_module("pyarrow.compute")

_Field = descriptor_pb2.FieldDescriptorProto
#: Attributes that are kept: what a narrow row of a call needs.
_KEPT = ("gen_ai.tool.name", "gen_ai.operation.name", "gen_ai.tool.call.id", "gen_ai.agent.name", "error.type")
#: Requests in one commit of `best`.
_MOST_REQUESTS = 16


def serve_plain(path: str) -> None:
    connection = duckdb.connect(path)
    connection.execute(
        "create table spans (trace_id blob, span_id blob, parent_id blob, name varchar, kind integer, start_ns ubigint,"
        " end_ns ubigint, status integer, message varchar, service varchar, scope varchar, attributes map(varchar,"
        " varchar), events varchar[])"
    )
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            table = _wide(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                connection.register("incoming", table)
                connection.execute("insert into spans select * from incoming")
                connection.unregister("incoming")
            self._answer(b"")

        def do_GET(self) -> None:
            [(spans,)] = connection.cursor().execute("select count(*) from spans").fetchall()
            self._answer(str(spans).encode())

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            del code, size

    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


_WIDE = pa.schema(
    [
        ("trace_id", pa.binary()),
        ("span_id", pa.binary()),
        ("parent_id", pa.binary()),
        ("name", pa.string()),
        ("kind", pa.int32()),
        ("start_ns", pa.uint64()),
        ("end_ns", pa.uint64()),
        ("status", pa.int32()),
        ("message", pa.string()),
        ("service", pa.string()),
        ("scope", pa.string()),
        ("attributes", pa.map_(pa.string(), pa.string())),
        ("events", pa.list_(pa.string())),
    ]
)


def _wide(payload: bytes) -> Any:
    rows: list[tuple[object, ...]] = []
    for resource_spans in TracesData.FromString(payload).resource_spans:
        resource = {pair.key: pair.value.string_value for pair in resource_spans.resource.attributes}
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope.name
            rows += [
                (
                    span.trace_id,
                    span.span_id,
                    span.parent_span_id,
                    span.name,
                    span.kind,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    span.status.code,
                    span.status.message,
                    resource.get("service.name"),
                    scope,
                    [
                        (pair.key, str(getattr(pair.value, pair.value.WhichOneof("value") or "")))
                        for pair in span.attributes
                    ],
                    [
                        str(getattr(pair.value, pair.value.WhichOneof("value") or ""))
                        for event in span.events
                        for pair in event.attributes
                    ],
                )
                for span in scope_spans.spans
            ]
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _WIDE, strict=True)]
    return pa.Table.from_arrays(columns, schema=_WIDE)


def _handler() -> Any:
    """
    What makes Arrow of requests, through a descriptor of the fields that are kept.
    """
    ptars: Any = import_module("ptars")
    file = descriptor_pb2.FileDescriptorProto(name="floor.proto", package="floor", syntax="proto3")
    messages = {
        "Status": [("code", 3, _Field.TYPE_INT32, "")],
        "AnyValue": [("string_value", 1, _Field.TYPE_STRING, "")],
        "KeyValue": [("key", 1, _Field.TYPE_STRING, ""), ("value", 2, _Field.TYPE_MESSAGE, "AnyValue")],
        "Span": [
            ("trace_id", 1, _Field.TYPE_BYTES, ""),
            ("span_id", 2, _Field.TYPE_BYTES, ""),
            ("parent_span_id", 4, _Field.TYPE_BYTES, ""),
            ("name", 5, _Field.TYPE_STRING, ""),
            ("kind", 6, _Field.TYPE_INT32, ""),
            ("start_time_unix_nano", 7, _Field.TYPE_FIXED64, ""),
            ("end_time_unix_nano", 8, _Field.TYPE_FIXED64, ""),
            ("attributes", 9, _Field.TYPE_MESSAGE, "KeyValue[]"),
            ("status", 15, _Field.TYPE_MESSAGE, "Status"),
        ],
        "ScopeSpans": [("spans", 2, _Field.TYPE_MESSAGE, "Span[]")],
        "ResourceSpans": [("scope_spans", 2, _Field.TYPE_MESSAGE, "ScopeSpans[]")],
        "TracesData": [("resource_spans", 1, _Field.TYPE_MESSAGE, "ResourceSpans[]")],
    }
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of in fields:
            message.field.add(
                name=field,
                number=number,
                type=kind,
                label=_Field.LABEL_REPEATED if of.endswith("[]") else _Field.LABEL_OPTIONAL,
                type_name=f".floor.{of.removesuffix('[]')}" if of else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    message_factory.GetMessageClass(pool.FindMessageTypeByName("floor.TracesData"))
    return ptars.HandlerPool([pool.FindFileByName("floor.proto")]).get_for_message(
        pool.FindMessageTypeByName("floor.TracesData")
    )


def _narrow(handler: Any, payloads: list[bytes]) -> Any:
    column: Any = handler.list_to_record_batch(payloads).column(0)
    for name in ("scope_spans", "spans"):
        column = column.flatten().field(name)
    spans = column.flatten()
    trace = _ids(spans.field("trace_id")).reshape(-1, 2)
    # a root has no parent id: the ids stand one after another, and where there is none nothing does
    has_parent = pc.equal(pc.binary_length(spans.field("parent_span_id")), 8).to_numpy(zero_copy_only=False)
    parents = np.zeros(len(spans), np.uint64)
    parents[has_parent] = _ids(spans.field("parent_span_id"))
    ids = {"trace_hi": trace[:, 0], "trace_lo": trace[:, 1], "span_id": _ids(spans.field("span_id"))}
    names = ("name", "kind", "start_time_unix_nano", "end_time_unix_nano")
    return pa.table(
        {name: pa.array(values) for name, values in ids.items()}
        | {"parent_id": pa.array(parents)}
        | {name: spans.field(name) for name in names}
        | {"status": spans.field("status").field("code")}
        | _attributes(spans.field("attributes"))
    )


def _attributes(column: Any) -> dict[str, Any]:
    """
    The attributes that are kept, each as a column.
    """
    pairs = column.flatten()
    keys, values = pairs.field("key"), pairs.field("value").field("string_value")
    owners = (
        column.value_parent_indices() if hasattr(column, "value_parent_indices") else pc.list_parent_indices(column)
    )
    found: dict[str, Any] = {}
    for key in _KEPT:
        mask = pc.equal(keys, key)
        rows = np.full(len(column), -1, np.int64)
        rows[pc.filter(owners, mask).to_numpy()] = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        found[key] = values.take(pa.array(rows, mask=rows < 0))
    return found


def _ids(column: Any) -> Any:
    """
    Ids of eight bytes, or pairs of them, as numbers; where one is missing there is no number.
    """
    _, offsets, data = column.buffers()
    first, last = np.frombuffer(offsets, np.int32)[[column.offset, column.offset + len(column)]]
    return np.frombuffer(data, np.uint8)[first:last].view(">u8").astype(np.uint64)


def serve_best(path: str) -> None:
    import uvicorn

    connection = duckdb.connect(path, config={"wal_autocheckpoint": "1GB"})
    connection.execute(
        "create table spans (trace_hi ubigint, trace_lo ubigint, span_id ubigint, parent_id ubigint, name varchar,"
        " kind utinyint, start_ns bigint, end_ns bigint, status utinyint, tool varchar, operation varchar,"
        " call_id varchar, agent varchar, error_type varchar)"
    )
    waiting: queue.SimpleQueue[tuple[bytes, Future[None]]] = queue.SimpleQueue()
    handler = _handler()

    def write() -> None:
        while True:
            batch = [waiting.get()]
            while len(batch) < _MOST_REQUESTS and not waiting.empty():
                batch.append(waiting.get())
            connection.register("incoming", _narrow(handler, [payload for payload, _ in batch]))
            connection.execute("insert into spans select * from incoming")
            connection.unregister("incoming")
            for _, done in batch:
                done.set_result(None)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = b""
        if scope["method"] == "POST":
            parts, more = list[bytes](), True
            while more:
                message = await receive()
                parts.append(message.get("body", b""))
                more = message.get("more_body", False)
            done: Future[None] = Future()
            waiting.put((b"".join(parts), done))
            await asyncio.wrap_future(done)
        else:
            [(spans,)] = connection.cursor().execute("select count(*) from spans").fetchall()
            body = str(spans).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})

    threading.Thread(target=write, daemon=True).start()
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="off", http="httptools")
    listener = config.bind_socket()
    listener.listen(128)
    print(listener.getsockname()[1], flush=True)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    {"plain": serve_plain, "best": serve_best}[sys.argv[1]](sys.argv[2])
