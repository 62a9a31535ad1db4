-- Groups, calls and tasks that are being settled.
select
  (select count(*) from due where trace_hi = group_hi and trace_lo = group_lo),
  (select coalesce(sum(calls), 0) from tasks semi join chosen using (task)
    where ended_ns between $first_ns and $last_ns),
  (select count(*) from chosen);
