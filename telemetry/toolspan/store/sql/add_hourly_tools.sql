-- What the chosen tasks add to the sums by hour, tool and number of retries; with $sign -1, what they take from them.
insert into hourly_tools
select task_ended_ns - task_ended_ns % 3600000000000, agent, service, environment, tool, task_outcome, retries,
  $sign * count(*), $sign * sum(presumed), $sign * sum(allowed), $sign * sum(early), $sign * sum(over_cap),
  $sign * sum(wasted), $sign * sum(wasted_ns), $sign * sum(steps), $sign * sum(rewrites),
  $sign * sum(presumed_rewrites), $sign * sum(validation_failures), $sign * sum(recovered), $sign * sum(accepted),
  $sign * sum(episodes), $sign * sum(escalated), $sign * sum(clean)
from task_tools
semi join (select task from chosen where settled) using (task)
where task_ended_ns between $first_ns and $last_ns
group by all;
