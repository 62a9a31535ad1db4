-- The asked traces, which are whole groups, are kept no more, or are about to be written anew; with them goes what joined
-- them, also to traces that never came.
delete from traces using asked_traces
where traces.trace_hi = asked_traces.trace_hi and traces.trace_lo = asked_traces.trace_lo;

delete from task_traces
where task in (select task from task_traces semi join asked_traces using (trace_hi, trace_lo));
