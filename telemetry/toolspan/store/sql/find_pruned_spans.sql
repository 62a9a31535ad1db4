-- The calls and escalations of the asked traces; the bounds as for tasks.
select trace_hi, trace_lo, span_id
from calls
semi join asked_traces using (trace_hi, trace_lo)
where started_ns between $first_ns and $last_ns
union all
select trace_hi, trace_lo, span_id
from escalations
semi join asked_traces using (trace_hi, trace_lo)
where at_ns between $first_ns and $last_ns;
