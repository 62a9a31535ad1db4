-- What the chosen tasks add to the count of tasks by hour and outcome; with $sign -1, what they take from it.
insert into hourly_tasks
select ended_ns - ended_ns % 3600000000000, agent, service, environment, outcome,
  $sign * count(*), $sign * count(*) filter (where unhandled)
from tasks
semi join (select task from chosen where settled) using (task)
where ended_ns between $first_ns and $last_ns
group by all;
