"""
Kills a collector under load, again and again, and counts what it had acknowledged.

    python benchmarks/kills.py [--kills 200] [--senders 4]

After each kill it is started again on the same file, as a supervisor does. At the end every trace that was acknowledged
has to be there, with each of its calls once, and nothing may have been told lost.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import Request, urlopen

from generate import CALLS_PER_TRACE, SPANS_PER_TRACE, requests

#: Traces in a request: few, so that it is decoded at once and many are acknowledged before the kill.
_TRACES = 3


def started(store: Path, log: Path) -> tuple["subprocess.Popen[str]", str, str]:
    """
    A collector on *store*, and where it takes spans and answers.
    """
    options = ["--otlp-http", "127.0.0.1:0", "--otlp-grpc", "off", "--http", "127.0.0.1:0"]
    with log.open("a") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "toolspan", "collect", "--store", str(store), *options],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdout
    head = "".join(line for line, _ in zip(process.stdout, range(4), strict=False))
    otlp, answers, *_ = re.findall(r"http://127\.0\.0\.1:\d+", head)
    return process, otlp, answers


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--senders", type=int, default=4)
    options = parser.parse_args()
    chance, seeds = random.Random(3), count(1)
    acknowledged: list[int] = []

    def send(url: str, stop: threading.Event) -> None:
        while not stop.is_set():
            seed = next(seeds)
            [body] = requests(_TRACES * SPANS_PER_TRACE, spans_per_request=_TRACES * SPANS_PER_TRACE, seed=seed)
            request = Request(f"{url}/v1/traces", body, {"Content-Type": "application/x-protobuf"})  # noqa: S310 - of our own
            try:
                with urlopen(request, timeout=60):  # noqa: S310 - of our own
                    acknowledged.append(seed)
            except (URLError, ConnectionError, TimeoutError):
                return

    with TemporaryDirectory() as folder:
        store, log = Path(folder) / "x.duckdb", Path(folder) / "log"
        for number in range(options.kills):
            process, otlp, _ = started(store, log)
            stop = threading.Event()
            with ThreadPoolExecutor(options.senders) as pool:
                for _ in range(options.senders):
                    pool.submit(send, otlp, stop)
                time.sleep(chance.random())
                process.kill()
                stop.set()
            process.wait()
            if number % 20 == 19:
                print(f"{number + 1} kills, {len(acknowledged):,} requests acknowledged", flush=True)
        process, _, answers = started(store, log)
        with urlopen(f"{answers}/api/v1/query/calls") as response:  # noqa: S310 - of our own
            calls = sum(int(row["calls"]) for row in json.load(response)["rows"])
        with urlopen(f"{answers}/api/v1/store") as response:  # noqa: S310 - of our own
            facts = json.load(response)
        process.terminate()
        process.wait()
        told = [line for line in log.read_text().splitlines() if "lost" in line or "damaged" in line]
    least = len(acknowledged) * _TRACES * CALLS_PER_TRACE
    print(f"{least:,} calls acknowledged, {calls:,} there, {facts['traces']:,} traces; told: {told or 'nothing'}")
    assert least <= calls == facts["traces"] * CALLS_PER_TRACE, "something was lost, or is there twice"
    assert not told


if __name__ == "__main__":
    main()
