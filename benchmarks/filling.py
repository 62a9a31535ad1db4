"""
Rows for benchmarks of what is asked of a store: 30 days, 20 tools, three agents, four calls a task, of which 8 in 100
fail. They are made where they are kept: ten million of them in a minute.
"""

import duckdb

from toolspan.store.statements import Bounds
from toolspan.store.totals import add_totals

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


def fill(connection: duckdb.DuckDBPyConnection, calls: int) -> None:
    """
    Puts so many calls into a store without rows.
    """
    connection.execute(TASKS, {"tasks": calls // 4, "span_ns": DAYS * 24 * HOUR_NS})
    connection.execute(CALLS)
    connection.execute(TASK_TOOLS)
    connection.execute("create temporary table chosen as select task, settled from tasks")
    add_totals(connection, Bounds(0, 2**63 - 1), sign=1)
    connection.execute("drop table chosen")
