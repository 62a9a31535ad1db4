-- Local attempts of each tool: calls that were tried more than once inside it, tries per call, the time waited between
-- them, and budgets used up; every call counts, those of open tasks too.
--
-- $since_ns Nullable(Int64): first moment of the window on the task's end, ns since 1970; null: no bound
-- $until_ns Nullable(Int64): first moment after the window; null: no bound
-- $tool Nullable(String): this tool; null: all
-- $agent Nullable(String): tasks of this agent, '' where it is unknown; null: all
-- $service Nullable(String): tasks of this service, '' where it is unknown; null: all
-- $environment Nullable(String): tasks of this environment, '' where it is unknown; null: all
-- $by String: whose value group_value is: agent, service, environment; '': nobody's, all in one group
with
  single as (
    -- its edges: tasks that ended in hours which are not whole
    select
      agent,
      service,
      environment,
      tool,
      attempts,
      coalesce(waited_ms, 0) as waited_ms,
      budget_exhausted
    from calls
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and (
        task_ended_ns - (3600000000000 - $since_ns % 3600000000000) % 3600000000000 < $since_ns
        or task_ended_ns >= $until_ns - $until_ns % 3600000000000
      )
    union all
    -- open tasks, which no window with an end holds
    select
      agent,
      service,
      environment,
      tool,
      attempts,
      coalesce(waited_ms, 0) as waited_ms,
      budget_exhausted
    from calls
    where
      not settled
      and $until_ns is null
      and ($since_ns is null or task_ended_ns >= $since_ns)
  ),
  counted as (
    -- the whole hours of the window; 3600000000000 ns are one
    select
      agent,
      service,
      environment,
      tool,
      calls,
      attempts,
      locally_retried,
      waited_ms,
      budget_exhausted
    from hourly_calls
    where
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
    union all
    select
      agent,
      service,
      environment,
      tool,
      1 as calls,
      attempts,
      case when attempts > 1 then 1 else 0 end as locally_retried,
      waited_ms,
      case when budget_exhausted then 1 else 0 end as budget_exhausted
    from single
  ),
  chosen as (
    select
      case $by
        when 'agent' then agent
        when 'service' then service
        when 'environment' then environment
        else ''
      end as group_value,
      tool,
      calls,
      attempts,
      locally_retried,
      waited_ms,
      budget_exhausted
    from counted
    where
      ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  )
select
  group_value,
  tool,
  sum(calls) as calls,
  sum(attempts) as attempts,
  sum(locally_retried) as calls_with_local_retry,
  sum(attempts) / sum(calls) as attempts_per_call,
  sum(waited_ms) as waited_ms,
  sum(budget_exhausted) as budget_exhausted
from chosen
group by group_value, tool
having sum(calls) <> 0
order by group_value, tool;
