-- The times between which the tasks of the asked traces end; null where there are no tasks.
select min(first_ns), max(last_ns)
from traces
semi join asked_traces using (trace_hi, trace_lo)
where last_ns > 0;
