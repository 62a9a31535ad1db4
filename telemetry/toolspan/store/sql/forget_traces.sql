-- The asked traces are no longer kept groups, or are about to be written anew.
delete from traces using asked_traces
where traces.trace_hi = asked_traces.trace_hi and traces.trace_lo = asked_traces.trace_lo;

delete from task_traces using asked_traces
where task_traces.trace_hi = asked_traces.trace_hi and task_traces.trace_lo = asked_traces.trace_lo;
