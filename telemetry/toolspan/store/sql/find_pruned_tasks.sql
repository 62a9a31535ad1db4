-- The times of the tasks of the asked traces. The bounds are those of the spans that came, widely: without them every
-- append would read the trace ids of all tasks there ever were. A task may be longer than what came of it.
select trace_hi, trace_lo, started_ns, ended_ns
from tasks
semi join asked_traces using (trace_hi, trace_lo)
where started_ns <= $last_ns and ended_ns >= $first_ns;
