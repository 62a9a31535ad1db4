-- Adds to the count of one hour and reason.
insert into intake
select $hour, $reason, 0
where not exists (from intake where hour = $hour and reason = $reason);

update intake set spans = spans + $spans where hour = $hour and reason = $reason;
