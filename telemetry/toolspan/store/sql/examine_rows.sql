-- What the rows say as a whole, for whoever wonders why they say so little.
select
  (select count(*) from tasks),
  (select count(*) from tasks where not settled),
  (select count(*) from tasks where outcome_source = 'unseen'),
  (select coalesce(min(started_ns), 0) from tasks),
  (select coalesce(min(ended_ns), 0) from tasks),
  (select coalesce(max(ended_ns), 0) from tasks),
  (select count(*) from calls where follow_up is not null),
  (select count(*) from calls where follow_up is not null and presumed);
