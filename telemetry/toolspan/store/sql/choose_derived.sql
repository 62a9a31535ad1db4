-- The tasks of the asked traces, and of them the settled ones: what is to be replaced.
create or replace temporary table chosen as
select task, settled
from tasks
semi join asked_traces using (trace_hi, trace_lo)
where ended_ns between $first_ns and $last_ns;
