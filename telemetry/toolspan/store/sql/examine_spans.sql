-- The spans and traces that are kept, and when the last span came: exactly while it is kept, else to the hour.
select
  (select coalesce(sum(spans), 0) from traces),
  (select count(*) from traces),
  coalesce((select max(arrived_ns) from traces), (select max(hour) from intake where reason = 'received'), 0);
