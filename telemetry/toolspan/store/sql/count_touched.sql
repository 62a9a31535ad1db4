-- The kept groups that a writer was the last to be given spans of, their calls and tasks.
with touched as (
  select trace_hi, trace_lo, group_hi, group_lo from traces where writer = $writer
)
select
  (select count(*) from touched where trace_hi = group_hi and trace_lo = group_lo),
  (select coalesce(sum(calls), 0) from tasks semi join touched using (trace_hi, trace_lo)),
  (select count(*) from tasks semi join touched using (trace_hi, trace_lo));
