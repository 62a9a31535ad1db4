-- The traces of the due groups; those first to which spans came longest ago.
select group_hi, group_lo, trace_hi, trace_lo
from due
order by arrived_ns, group_hi, group_lo, trace_hi, trace_lo;
