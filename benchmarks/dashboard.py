"""
How long the pages take over a store of many calls: what each asks of the store, and the first view in a browser.

The bound is 2 s for the first view of the overview over ten million calls once the process is warm, and 0.5 s for what
each page asks. The store is a file, opened, locked and closed for each look as agents that write to it would have it;
its calls are those of `benchmarks/queries.py`. The view is timed in a real browser, from the request of the page to the
last row of its table.

    python benchmarks/dashboard.py --calls 10000000 --chromium /usr/bin/chromium
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from filling import DAYS, HOUR_NS, fill

from toolspan.cli._dashboard_process import DashboardProcess, Site, free_site
from toolspan.config import Settings
from toolspan.scope import Scope
from toolspan.store.duckdb import DuckDBStore
from toolspan_dashboard import data

START_NS = 1_777_593_600_000_000_000


def make(path: Path, calls: int) -> None:
    """
    Makes a store of so many calls.
    """
    begun = time.perf_counter()
    store = DuckDBStore(path, purpose="a benchmark", settings=Settings(), tell=print)
    with store.transaction() as connection:
        connection.execute("set memory_limit = '8GB'")  # one transaction for all; what agents send comes in thousands
        fill(connection, calls)
    print(f"{calls:,} calls, {path.stat().st_size / 2**20:,.0f} MiB: {time.perf_counter() - begun:.0f} s")


def shortest_ms(work: Callable[[], object], *, rounds: int) -> float:
    """
    The shortest of several times: other work on the machine can only make it longer.
    """
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def of_pages(store: str, *, rounds: int) -> None:
    """
    Prints how long the looks of each page take.
    """
    everything, end_ns = Scope(), START_NS + DAYS * 24 * HOUR_NS
    scopes = {"everything": everything, "last 24 hours": Scope(since_ns=end_ns - 24 * HOUR_NS)}
    half_ns = (START_NS + end_ns) // 2
    asked: dict[str, Callable[[Scope], object]] = {
        "overview": lambda scope: uncached(data.overview)(store, scope),
        "tool": lambda scope: uncached(data.tool)(store, scope._replace(tool="tool-3")),
        "task: worst": lambda scope: uncached(data.worst_tasks)(store, scope),
        "task: one": lambda _: uncached(data.task)(store, "task-1234"),
        "quality": lambda scope: uncached(data.quality)(store, scope),
        "compare: time": lambda scope: uncached(data.reports)(
            store, (scope._replace(until_ns=half_ns), scope._replace(since_ns=half_ns))
        ),
        "compare: agents": lambda scope: uncached(data.reports_by)(store, "agent", scope),
        "every page: names": lambda _: uncached(data.names)(store),
        "every page: facts": lambda _: uncached(data.facts)(store),
    }
    for scope_name, scope in scopes.items():
        print(scope_name)
        for name, ask in asked.items():
            taken_ms = shortest_ms(partial(ask, scope), rounds=rounds)
            print(f"  {name:26}{taken_ms:8.1f} ms")


def uncached(function: Callable[..., object]) -> Callable[..., object]:
    """
    What Streamlit keeps the answers of, without that.
    """
    return function.__wrapped__  # type: ignore[attr-defined,no-any-return]  # set by functools


def first_view(store: str, chromium: str, *, rounds: int) -> None:
    """
    Prints how long the overview takes in a browser, each time in a session of its own.
    """
    from playwright.sync_api import sync_playwright

    with DashboardProcess(store, free_site(Site("127.0.0.1", 0))) as process, sync_playwright() as driver:
        process.await_ready()
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        times: list[float] = []
        for _ in range(rounds):
            page = browser.new_page()
            start = time.perf_counter()
            page.goto(f"{process.url}/?range=all")
            page.wait_for_selector('[data-table="tools"]', timeout=60_000)
            times.append(time.perf_counter() - start)
            page.close()
        browser.close()
    print(f"first view: {times[0]:.2f} s when the process is new, then {min(times[1:]):.2f} to {max(times[1:]):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--store", type=Path, help="a store of an earlier run, or where to leave this one")
    parser.add_argument("--chromium", help="a browser; without it no view is timed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path: Path = options.store or Path(folder) / "bench.duckdb"
        if not path.exists():
            make(path, options.calls)
        of_pages(str(path), rounds=options.rounds)
        if options.chromium:
            first_view(str(path), options.chromium, rounds=options.rounds)


if __name__ == "__main__":
    main()
