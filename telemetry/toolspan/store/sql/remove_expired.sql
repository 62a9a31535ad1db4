-- The spans of the expired groups go, and what was known of the groups; their rows stay.
delete from spans using expired
where spans.trace_hi = expired.trace_hi and spans.trace_lo = expired.trace_lo;

delete from traces using expired
where traces.trace_hi = expired.trace_hi and traces.trace_lo = expired.trace_lo;

delete from task_traces
where task in (select task from task_traces semi join expired using (trace_hi, trace_lo));
