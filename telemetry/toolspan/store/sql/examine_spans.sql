-- The spans and traces that are kept, when the last of these came, and the hour in which the last span of all came.
select
  (select coalesce(sum(spans), 0) from traces),
  (select count(*) from traces),
  (select coalesce(max(arrived_ns), 0) from traces),
  (select coalesce(max(hour), 0) from intake where reason = 'received');
