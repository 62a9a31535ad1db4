-- Class audit: of each tool's failures by error class and code, the identical retries that tell of the class, and those
-- that succeeded; settled tasks count. Presumed retries tell nothing, nor do those of a permission failure after an
-- escalation.
--
-- $since_ns Nullable(Int64): first moment of the window on the task's end, ns since 1970; null: no bound
-- $until_ns Nullable(Int64): first moment after the window; null: no bound
-- $tool Nullable(String): this tool; null: all
-- $agent Nullable(String): tasks of this agent, '' where it is unknown; null: all
-- $service Nullable(String): tasks of this service, '' where it is unknown; null: all
-- $environment Nullable(String): tasks of this environment, '' where it is unknown; null: all
-- $by String: whose value group_value is: agent, service, environment; '': nobody's, all in one group
with
  counted as (
    -- the whole hours of the window; 3600000000000 ns are one
    select
      agent,
      service,
      environment,
      tool,
      class,
      code,
      calls,
      audited,
      audited_ok
    from hourly_calls
    where
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
      and outcome = 'error'
    union all
    -- its edges: tasks that ended in hours which are not whole
    select
      agent,
      service,
      environment,
      tool,
      class,
      code,
      1 as calls,
      case when audited then 1 else 0 end as audited,
      case when audited_ok then 1 else 0 end as audited_ok
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
      calls,
      audited,
      audited_ok
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
  sum(calls) as failures,
  sum(audited) as identical_retries,
  sum(audited_ok) as succeeded,
  sum(audited_ok) / sum(audited) as rate
from chosen
group by group_value, tool, class, coalesce(code, 'UNCLASSIFIED')
having sum(audited) <> 0
order by group_value, tool, class, coalesce(code, 'UNCLASSIFIED');
