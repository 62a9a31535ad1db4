-- Failed calls of each tool by error class and code; every call counts, those of open tasks too.
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
      class,
      code
    from calls
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and (
        task_ended_ns - (3600000000000 - $since_ns % 3600000000000) % 3600000000000 < $since_ns
        or task_ended_ns >= $until_ns - $until_ns % 3600000000000
      )
      and outcome = 'error'
    union all
    -- open tasks, which no window with an end holds
    select
      agent,
      service,
      environment,
      tool,
      class,
      code
    from calls
    where
      not settled
      and $until_ns is null
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and outcome = 'error'
  ),
  counted as (
    -- the whole hours of the window; 3600000000000 ns are one
    select
      agent,
      service,
      environment,
      tool,
      class,
      code,
      calls
    from hourly_calls
    where
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
      and outcome = 'error'
    union all
    select
      agent,
      service,
      environment,
      tool,
      class,
      code,
      1 as calls
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
      class,
      code,
      calls
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
  class as error_class,
  coalesce(code, 'UNCLASSIFIED') as code,
  sum(calls) as failures
from chosen
group by group_value, tool, class, coalesce(code, 'UNCLASSIFIED')
having sum(calls) <> 0
order by group_value, tool, class, coalesce(code, 'UNCLASSIFIED');
