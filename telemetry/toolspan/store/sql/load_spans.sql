-- The kept spans of the asked traces, in the order in which they came.
select trace_hi, trace_lo, span_id, parent_id, start_ns, end_ns, facts
from spans
semi join asked_traces using (trace_hi, trace_lo);
