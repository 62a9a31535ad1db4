-- How many groups are due.
select count(*) from due where trace_hi = group_hi and trace_lo = group_lo;
