-- How many tasks are open although nothing more of their groups is expected.
select count(*)
from tasks
semi join (
  select trace_hi, trace_lo
  from traces
  where not settled and arrived_ns <= case when is_ended then $grace_ns else $timeout_ns end
) as overdue using (trace_hi, trace_lo)
where not settled;
