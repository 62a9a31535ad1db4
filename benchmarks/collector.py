"""
The collector over OTLP/HTTP, against two receivers that do less: spans per second until they can be queried.

    python benchmarks/collector.py [throughput] [soak] [--spans 1000000] [--seconds 600] [--senders 32]

`throughput` sends the same requests to each of three servers in turn: a plain receiver and the best one we know (see
`floors.py`; it needs `pip install ptars`), neither of which classifies anything, and `toolspan collect`. A span is
there when a query finds it, which is polled. The ratios are of this run; sender and server share the machine.

`soak` sends at half the rate that `throughput` found, for *seconds*, while a dashboard asks for the report every
second, and prints the memory over time and the percentiles of acknowledgement.
"""

import argparse
import http.client
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from generate import CALLS_PER_TRACE, SPANS_PER_TRACE, requests

#: How much of the floors' rates the collector reaches.
PLAIN_TARGET, BEST_TARGET = 2.0, 0.5
_SPANS_PER_REQUEST = 510
_HEADERS = {"Content-Type": "application/x-protobuf"}
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Server(NamedTuple):
    """
    A server that runs: where to post and how to *ask* how many spans can be queried.
    """

    process: "subprocess.Popen[str]"
    folder: Path
    post_port: int
    ask: Callable[[], int]
    http_port: int = 0


class Load(NamedTuple):
    """
    What a run measured; times in seconds.
    """

    spans: int
    wall_s: float
    cpu_s: float
    peak_mb: float
    bytes_per_span: float
    latencies_s: list[float]

    @property
    def rate(self) -> float:
        """
        Spans a second until the last one could be queried.
        """
        return self.spans / self.wall_s


@contextmanager
def floor(name: str, folder: Path) -> Generator[Server]:
    """
    One of the floors.
    """
    script = Path(__file__).with_name("floors.py")
    process = subprocess.Popen(
        [sys.executable, str(script), name, str(folder / "spans.duckdb")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    port = int(process.stdout.readline())
    with stopping(process):
        yield Server(process, folder, port, lambda: int(get(port, "/count")))


@contextmanager
def collector(folder: Path) -> Generator[Server]:
    """
    `toolspan collect` on ports that are free.
    """
    options = ["--otlp-http", "127.0.0.1:0", "--otlp-grpc", "off", "--http", "127.0.0.1:0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "toolspan", "collect", "--store", str(folder / "spans.duckdb"), *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    head = "".join(line for line, _ in zip(process.stdout, range(4), strict=False))
    otlp, api = (int(port) for port in re.findall(r"http://127\.0\.0\.1:(\d+)", head)[:2])

    def ask() -> int:
        """
        A call is there when `report` counts it; the spans around it came in the same commit.
        """
        rows = json.loads(get(api, "/api/v1/query/calls"))["rows"]
        return sum(int(row["calls"]) for row in rows) * SPANS_PER_TRACE // CALLS_PER_TRACE

    with stopping(process):
        yield Server(process, folder, otlp, ask, api)


@contextmanager
def stopping(process: "subprocess.Popen[str]") -> Generator[None]:
    """
    Ends *process* when the block does.
    """
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def get(port: int, path: str) -> bytes:
    """
    The body of a page.
    """
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
    assert response.status == 200, body
    return body


def send(server: Server, payloads: Sequence[bytes], *, senders: int, rate: float | None = None) -> list[float]:
    """
    Posts all *payloads* over *senders* connections, *rate* of them a second where it is given; seconds for each answer.
    """
    numbers = count()
    latencies: list[float] = []
    begun = time.perf_counter()

    def work() -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", server.post_port, timeout=120)) as connection:
            while (number := next(numbers)) < len(payloads):
                if rate is not None:
                    time.sleep(max(0.0, begun + number / rate - time.perf_counter()))
                latencies.append(post(connection, payloads[number]))

    threads = [threading.Thread(target=work) for _ in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(latencies) == len(payloads), "a sender failed"
    return latencies


def post(connection: http.client.HTTPConnection, payload: bytes) -> float:
    """
    Sends *payload* until it is acknowledged, as exporters do; seconds for that.
    """
    begun = time.perf_counter()
    while True:
        connection.request("POST", "/v1/traces", payload, _HEADERS)
        response = connection.getresponse()
        body = response.read()
        if response.status == 200:
            return time.perf_counter() - begun
        assert response.status in (429, 503), body
        time.sleep(float(response.headers["Retry-After"]))


def family(pid: int) -> list[int]:
    """
    The process *pid* and those that it started.
    """
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [pid, *(int(child) for thread in threads for child in (thread / "children").read_text().split())]


def cpu_s(pid: int) -> float:
    """
    CPU seconds of the process *pid* and of those that it started, so far.
    """
    stats = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in family(pid)]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / _TICKS_PER_S


def memory_mb(pid: int, field: str) -> float:
    """
    `VmHWM` (the peak) or `VmRSS` of the process *pid* and of those that it started.
    """
    statuses = [Path(f"/proc/{each}/status").read_text() for each in family(pid)]
    return sum(int(size) for text in statuses for size in re.findall(rf"{field}:\s+(\d+) kB", text)) / 1024


def load(server: Server, payloads: Sequence[bytes], spans: int, *, senders: int) -> Load:
    """
    Sends *payloads* as fast as they are taken, and waits until all *spans* can be queried.
    """
    send(server, payloads[:senders], senders=senders)  # whatever is imported at the first request
    warm = server.ask()
    used, begun = cpu_s(server.process.pid), time.perf_counter()
    latencies = send(server, payloads[senders:], senders=senders)
    while server.ask() < spans:
        time.sleep(0.02)
    wall = time.perf_counter() - begun
    used = cpu_s(server.process.pid) - used
    size = sum(path.stat().st_size for path in server.folder.iterdir())
    return Load(spans - warm, wall, used, memory_mb(server.process.pid, "VmHWM"), size / spans, latencies)


def throughput(spans: int, *, senders: int) -> float:
    """
    Prints what each of the three reaches; gives the collector's rate.
    """
    payloads = list(requests(spans, spans_per_request=_SPANS_PER_REQUEST))
    spans = len(payloads) * _SPANS_PER_REQUEST
    loads: dict[str, Load] = {}
    for name in ("plain", "best", "collector"):
        with TemporaryDirectory() as folder:
            place = Path(folder)
            with collector(place) if name == "collector" else floor(name, place) as server:
                loads[name] = load(server, payloads, spans, senders=senders)
    print(f"{'':10} {'spans/s':>9} {'CPU s/1k':>9} {'peak MB':>8} {'B/span':>7} {'p50 ms':>7} {'p99 ms':>7}")
    for name, each in loads.items():
        p50, p99 = quantiles_ms(each.latencies_s)
        print(
            f"{name:10} {each.rate:9,.0f} {1000 * each.cpu_s / each.spans:9.4f} {each.peak_mb:8.0f}"
            f" {each.bytes_per_span:7.0f} {p50:7.0f} {p99:7.0f}"
        )
    ours = loads["collector"].rate
    print(f"of plain   {ours / loads['plain'].rate:.2f} (target {PLAIN_TARGET})")
    print(f"of best    {ours / loads['best'].rate:.2f} (target {BEST_TARGET})")
    return ours


def quantiles_ms(latencies_s: Sequence[float]) -> tuple[float, float]:
    """
    The median and the 99th percentile in milliseconds.
    """
    cuts = statistics.quantiles(latencies_s, n=100)
    return 1000 * cuts[49], 1000 * cuts[98]


def soak(rate: float, *, seconds: float, senders: int) -> None:
    """
    Sends *rate* spans a second for *seconds*, with a dashboard that asks every second.
    """
    with TemporaryDirectory() as folder, collector(Path(folder)) as server:
        ended, asked = threading.Event(), list[float]()

        def dashboard() -> None:
            while not ended.wait(1.0):
                begun = time.perf_counter()
                get(server.http_port, "/api/v1/report?since=1h")
                get(server.http_port, "/metrics")
                asked.append(time.perf_counter() - begun)

        watcher = threading.Thread(target=dashboard)
        watcher.start()
        slices, latencies, sent = 10, list[float](), 0
        for part in range(slices):
            # every slice has traces of its own
            payloads = list(requests(round(rate * seconds / slices), spans_per_request=_SPANS_PER_REQUEST, seed=part))
            latencies += send(server, payloads, senders=senders, rate=rate / _SPANS_PER_REQUEST)
            sent += len(payloads) * _SPANS_PER_REQUEST
            p50, p99 = quantiles_ms(latencies)
            rss = memory_mb(server.process.pid, "VmRSS")
            print(f"{sent:12,} spans  RSS {rss:6.0f} MB  ack p50 {p50:5.0f} ms, p99 {p99:5.0f} ms", flush=True)
        ended.set()
        watcher.join()
        print(f"dashboard  p50 {1000 * statistics.median(asked):.0f} ms, most {1000 * max(asked):.0f} ms")
        assert server.ask() == sent, f"{server.ask():,} of {sent:,} can be queried"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=["throughput", "soak"], default=["throughput"])
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--senders", type=int, default=32)
    parser.add_argument("--rate", type=float, help="spans a second of the soak; else half of what throughput found")
    options = parser.parse_args()
    rate = options.rate
    if "throughput" in options.parts:
        found = throughput(options.spans, senders=options.senders)
        rate = found / 2 if rate is None else rate
    if "soak" in options.parts:
        if rate is None:
            parser.error("soak needs --rate, or throughput before it")
        soak(rate, seconds=options.seconds, senders=options.senders)
    print(f"sender: {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.0f} s of CPU")


if __name__ == "__main__":
    main()
