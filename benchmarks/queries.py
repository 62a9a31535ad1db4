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

from toolspan.report_answers import fetch_report
from toolspan.scope import Scope
from toolspan.store.statements import Bounds, run
from toolspan.store.totals import add_totals
from toolspan_queries import load, names

HOUR_NS = 3600 * 10**9
DAYS = 30

#: Numbers that look random and are the same on every run: a hash of a number of its own.
TASKS = """
insert into tasks
select i, 'task-' || i, 0, i, 'run', 'agent-' || hash(i * 7) % 3, 'service', 'prod', started_ns,
  started_ns + (hash(i) % 60_000_000_000)::bigint,
  case hash(i * 3) % 20 when 0 then 'unresolved' when 1 then 'escalated' when 2 then 'unknown' else 'resolved' end,
  'status', i < $tasks - 200, 0, 4, 0, false, true
from (
  select i, 1_777_593_600_000_000_000 + (i * ($span_ns / $tasks))::bigint as started_ns
  from range($tasks) numbers(i)
)
"""
CALLS = """
insert into calls by name
select task, ended_ns as task_ended_ns, settled, 0 as revision, 0 as trace_hi, trace_lo, key as span_id,
  'tool-' || hash(key) % 20 as tool, agent, service, environment, started_ns + place * 1_000_000_000 as started_ns,
  exp(15 + hash(key) % 7 + 1.5 * (hash(key + 1) % 1000) / 1000.0)::bigint as duration_ns, outcome,
  case when outcome = 'error' then class end as class, case when outcome = 'error' then upper(class) end as code,
  '' as evidence, case when hash(key + 2) % 50 = 0 then 2 else 1 end as attempts, false as budget_exhausted,
  case when outcome = 'error' and class = 'validation' then 'field-' || hash(key + 3) % 3 end as field,
  0 as lint, '' as step_id, false as presumed, 0 as wasted_ns,
  case when outcome = 'error' and hash(key + 4) % 3 = 0 then 'wasted' end as answer_verdict,
  outcome = 'error' and class = 'validation' and hash(key + 5) % 2 = 0 as recovered,
  false as accepted, false as audited, false as audited_ok
from (
  select tasks.* exclude (outcome), place, task * 4 + place as key,
    case when hash(task * 4 + place + 6) % 100 < 8 then 'error' else 'ok' end as outcome,
    ['transient', 'validation', 'permission', 'fatal'][(1 + hash(task * 4 + place + 7) % 4)::integer] as class
  from tasks, range(4) places(place)
)
order by task, place
"""
TASK_TOOLS = """
insert into task_tools by name
select task, any_value(task_ended_ns) as task_ended_ns, any_value(calls.settled) as settled, 0 as revision,
  any_value(calls.agent) as agent, any_value(calls.service) as service, any_value(calls.environment) as environment,
  any_value(tasks.outcome) as task_outcome, tool, count(*) as calls, count(answer_verdict) as retries, 0 as presumed,
  0 as allowed, 0 as early, 0 as over_cap, count(answer_verdict) as wasted, 0 as wasted_ns, count(*) as steps,
  0 as rewrites, 0 as presumed_rewrites, count(*) filter (where class = 'validation') as validation_failures,
  count(*) filter (where recovered) as recovered, 0 as accepted, 0 as episodes, 0 as escalated, 0 as clean, 0 as streak
from calls join tasks using (task)
group by task, tool
order by task_ended_ns
"""


def filled(calls: int) -> duckdb.DuckDBPyConnection:
    """
    A store of so many calls.
    """
    connection = duckdb.connect()
    run(connection, "schema")
    connection.execute(TASKS, {"tasks": calls // 4, "span_ns": DAYS * 24 * HOUR_NS})
    connection.execute(CALLS)
    connection.execute(TASK_TOOLS)
    connection.execute("create temporary table chosen as select task, settled from tasks")
    add_totals(connection, Bounds(0, 2**63 - 1), sign=1)
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
