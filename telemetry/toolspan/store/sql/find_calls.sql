-- The calls whose span id lies between two, with the task that each belongs to.
select calls.trace_hi, calls.trace_lo, calls.span_id, tool, task_id
from calls
join tasks using (task)
where task_ended_ns = ended_ns
  and calls.span_id between $first_id and $last_id
order by calls.started_ns, calls.trace_hi, calls.trace_lo, calls.span_id;
