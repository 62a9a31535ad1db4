-- The spans of the expired groups go, and what was known of the groups; their rows stay.
delete from spans using expired
where spans.trace_hi = expired.trace_hi
  and spans.trace_lo = expired.trace_lo
  and spans.arrived_ns <= (select max(arrived_ns) from expired);

delete from traces using expired
where traces.trace_hi = expired.trace_hi and traces.trace_lo = expired.trace_lo;

delete from task_traces using expired
where task_traces.trace_hi = expired.trace_hi and task_traces.trace_lo = expired.trace_lo;
