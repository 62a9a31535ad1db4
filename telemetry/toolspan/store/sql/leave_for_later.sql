-- The asked traces, which are whole groups, are not settled this time.
delete from due using asked_traces
where due.trace_hi = asked_traces.trace_hi and due.trace_lo = asked_traces.trace_lo;
