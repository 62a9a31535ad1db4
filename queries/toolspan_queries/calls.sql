-- Calls of each tool by outcome, with their attempts, the tries inside the tool; every call counts, those of open
-- tasks too.
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
      outcome,
      attempts
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
      outcome,
      attempts
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
      outcome,
      calls,
      attempts,
      locally_retried
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
      outcome,
      1 as calls,
      attempts,
      case when attempts > 1 then 1 else 0 end as locally_retried
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
      outcome,
      calls,
      attempts,
      locally_retried
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
  coalesce(sum(calls) filter (where outcome = 'ok'), 0) as ok,
  coalesce(sum(calls) filter (where outcome = 'error'), 0) as error,
  coalesce(sum(calls) filter (where outcome = 'cancelled'), 0) as cancelled,
  coalesce(sum(calls) filter (where outcome = 'deferred'), 0) as deferred,
  sum(attempts) as attempts,
  sum(locally_retried) as calls_with_local_retry
from chosen
group by group_value, tool
having sum(calls) <> 0
order by group_value, tool;
