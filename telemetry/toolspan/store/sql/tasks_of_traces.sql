-- The task ids that the asked traces name.
select distinct task
from task_traces
semi join asked_traces using (trace_hi, trace_lo);
