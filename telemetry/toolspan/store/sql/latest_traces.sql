-- The traces to which spans came last, as many as have about so many spans together.
with ranked as (
  select trace_hi, trace_lo, sum(spans) over (order by arrived_ns desc, trace_hi, trace_lo) - spans as before
  from traces
)
select trace_hi, trace_lo
from ranked
where before < $most_spans
order by trace_hi, trace_lo;
