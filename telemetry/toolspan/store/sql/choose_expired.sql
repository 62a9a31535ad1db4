-- Settled groups whose spans are needed no more: closed before $closed_ns, or the oldest beyond $most_spans of all.
create or replace temporary table expired as
with ranked as (
  select trace_hi, trace_lo, settled, arrived_ns,
    sum(spans) over (order by arrived_ns desc, group_hi, group_lo range between unbounded preceding and current row)
      as spans_so_far
  from traces
)
select trace_hi, trace_lo
from ranked
where settled and (arrived_ns < $closed_ns or spans_so_far > $most_spans);
