-- Of the due groups only so many stay: those to which spans came longest ago.
create or replace temporary table due as
select *
from due
qualify dense_rank() over (order by arrived_ns, group_hi, group_lo) <= $most;
