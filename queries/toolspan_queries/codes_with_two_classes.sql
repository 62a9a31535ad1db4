-- Codes that a tool gave to failures of more than one class, with the failures of each. Unclassified is no class; every
-- call counts, those of open tasks too.
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
      and class <> 'unclassified'
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
      and class <> 'unclassified'
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
      and class <> 'unclassified'
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
      coalesce(code, 'UNCLASSIFIED') as code,
      calls
    from counted
    where
      ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  ),
  classes as (
    select
      group_value,
      tool,
      code,
      class,
      sum(calls) as failures
    from chosen
    group by group_value, tool, code, class
    having sum(calls) <> 0
  ),
  compared as (
    select
      group_value,
      tool,
      code,
      class,
      failures,
      count(*) over (partition by group_value, tool, code) as classes
    from classes
  )
select
  group_value,
  tool,
  code,
  class as error_class,
  failures
from compared
where classes > 1
order by group_value, tool, code, failures desc, class;
