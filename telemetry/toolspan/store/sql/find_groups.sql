-- The kept groups that have one of the asked traces, or one that shares a task id with them, trace by trace. Kept groups
-- are whole, so one step is enough.
with named_tasks as (
  select task from asked_tasks
  union
  select task from task_traces semi join asked_traces using (trace_hi, trace_lo)
),
named as (
  select trace_hi, trace_lo from asked_traces
  union
  select trace_hi, trace_lo from task_traces semi join named_tasks using (task)
),
asked as (
  select distinct group_hi, group_lo from traces semi join named using (trace_hi, trace_lo)
)
select group_hi, group_lo, trace_hi, trace_lo, arrived_ns, revision, settled, writer, spans
from traces
semi join asked using (group_hi, group_lo);
