"""
How long a report on a store takes, by what is asked.

    python benchmarks/queries.py [--calls 1000000]

Fills a store in memory with made-up calls: 30 days, 20 tools, three agents, four calls a task, of which 8 in 100 fail.
Prints the shortest of several runs of all queries of a report together, and of each query on everything.
"""

import argparse
import time
from collections.abc import Callable

import duckdb
from filling import HOUR_NS, fill

from toolspan.report_answers import fetch_report
from toolspan.scope import Scope
from toolspan.store.statements import run
from toolspan_queries import load, names


def filled(calls: int) -> duckdb.DuckDBPyConnection:
    """
    A store of so many calls.
    """
    connection = duckdb.connect()
    run(connection, "schema")
    fill(connection, calls)
    connection.execute("checkpoint")
    return connection


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    connection = filled(options.calls)
    connection.execute(f"set threads = {options.threads}")
    [(first_ns, last_ns)] = connection.execute("select min(ended_ns), max(ended_ns) from tasks").fetchall()
    middle_ns = (first_ns + last_ns) // 2
    scopes = {
        "everything": Scope(),
        "since the middle": Scope(since_ns=middle_ns),
        "a day": Scope(since_ns=middle_ns, until_ns=middle_ns + 24 * HOUR_NS),
        "last 24 hours": Scope(since_ns=last_ns - 24 * HOUR_NS),
        "one agent": Scope(agent="agent-1"),
    }
    for name, scope in scopes.items():

        def ask(scope: Scope = scope) -> object:
            return fetch_report(connection, scope=scope)

        print(f"{name:28}{shortest_ms(ask, rounds=options.rounds):8.1f} ms")
    by_agent = shortest_ms(lambda: fetch_report(connection, by="agent"), rounds=options.rounds)
    print(f"{'everything, by agent':28}{by_agent:8.1f} ms\n")
    for name in names():
        query = load(name)
        asked = {parameter: "" if parameter == "by" else None for parameter in query.parameters}

        def answer(text: str = query.text, asked: dict[str, str | None] = asked) -> object:
            return connection.execute(text, asked).fetchall()

        print(f"{name:28}{shortest_ms(answer, rounds=options.rounds):8.1f} ms")


if __name__ == "__main__":
    main()
