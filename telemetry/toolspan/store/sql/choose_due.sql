-- The open tasks of the due groups: what is to be settled.
create or replace temporary table chosen as
select task, true as settled
from tasks
semi join due using (trace_hi, trace_lo)
where ended_ns between $first_ns and $last_ns and not settled;
