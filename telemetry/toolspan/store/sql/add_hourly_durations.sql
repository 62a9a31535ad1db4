-- What the calls of the chosen tasks add to the counts by hour, tool and duration, which is rounded half up at the third
-- significant digit; with $sign -1, what they take.
insert into hourly_durations
with lengths as (
  select task_ended_ns - task_ended_ns % 3600000000000 as hour, agent, service, environment, tool,
    greatest(duration_ns, 0) as exact_ns,
    cast(power(10, greatest(length(cast(greatest(duration_ns, 0) as varchar)) - 3, 0)) as bigint) as unit_ns
  from calls
  semi join (select task from chosen where settled) using (task)
  where task_ended_ns between $first_ns and $last_ns
)
select hour, agent, service, environment, tool,
  exact_ns - exact_ns % unit_ns + case when 2 * (exact_ns % unit_ns) >= unit_ns then unit_ns else 0 end,
  $sign * count(*)
from lengths
group by all;
