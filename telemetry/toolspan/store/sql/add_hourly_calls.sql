-- What the calls of the chosen tasks add to the sums by hour, tool, outcome and code; with $sign -1, what they take.
insert into hourly_calls
select task_ended_ns - task_ended_ns % 3600000000000, agent, service, environment, tool, outcome, class,
  case when outcome = 'error' then code end, case when outcome = 'error' then field end,
  $sign * count(*), $sign * sum(attempts), $sign * count(*) filter (where attempts > 1),
  $sign * coalesce(sum(waited_ms), 0), $sign * count(*) filter (where budget_exhausted),
  $sign * count(*) filter (where recovered), $sign * count(*) filter (where accepted),
  $sign * count(*) filter (where answer_verdict = 'early'), $sign * count(*) filter (where answer_verdict = 'over_cap'),
  $sign * count(*) filter (where answer_verdict = 'wasted'), $sign * count(*) filter (where audited),
  $sign * count(*) filter (where audited_ok)
from calls
semi join (select task from chosen where settled) using (task)
where task_ended_ns between $first_ns and $last_ns
group by all;
