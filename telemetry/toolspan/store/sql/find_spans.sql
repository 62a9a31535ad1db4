-- Those of the asked spans that are kept.
select trace_hi, trace_lo, span_id
from spans
semi join asked_spans using (trace_hi, trace_lo, span_id);
