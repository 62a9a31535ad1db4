-- The open groups of the asked traces, which are whole groups, are from now on $writer's to settle.
update traces
set writer = $writer
from asked_traces
where traces.trace_hi = asked_traces.trace_hi and traces.trace_lo = asked_traces.trace_lo;
