-- The tasks that ended before $before_ns, and the groups all of whose tasks did. A group that has a later task stays
-- whole: deriving it again would bring its old tasks back.
create or replace temporary table staying as
with later as (
  select trace_hi, trace_lo from tasks where ended_ns >= $before_ns
),
later_groups as (
  select group_hi, group_lo from traces semi join later using (trace_hi, trace_lo)
)
select trace_hi, trace_lo from later
union
select trace_hi, trace_lo from traces semi join later_groups using (group_hi, group_lo);

create or replace temporary table chosen as
select task, settled, ended_ns, trace_hi, trace_lo, calls
from tasks
anti join staying using (trace_hi, trace_lo)
where ended_ns < $before_ns;

create or replace temporary table expired as
with old_groups as (
  select group_hi, group_lo from traces semi join chosen using (trace_hi, trace_lo)
)
select trace_hi, trace_lo, arrived_ns
from traces
semi join old_groups using (group_hi, group_lo);

select min(ended_ns), max(ended_ns), count(*), coalesce(sum(calls), 0)
from chosen;
