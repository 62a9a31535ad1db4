-- Retries of each tool by verdict, and the steps in which it was called; settled tasks count.
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
      tasks,
      retries * tasks as retries,
      presumed,
      allowed,
      early,
      over_cap,
      wasted,
      wasted_ns,
      steps
    from hourly_tools
    where
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
    union all
    -- its edges: tasks that ended in hours which are not whole
    select
      agent,
      service,
      environment,
      tool,
      1 as tasks,
      retries,
      presumed,
      allowed,
      early,
      over_cap,
      wasted,
      wasted_ns,
      steps
    from task_tools
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and (
        task_ended_ns - (3600000000000 - $since_ns % 3600000000000) % 3600000000000 < $since_ns
        or task_ended_ns >= $until_ns - $until_ns % 3600000000000
      )
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
      tasks,
      retries,
      presumed,
      allowed,
      early,
      over_cap,
      wasted,
      wasted_ns,
      steps
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
  sum(steps) as steps,
  sum(retries) as total,
  sum(presumed) as presumed,
  sum(allowed) as allowed,
  sum(early) as early,
  sum(over_cap) as over_cap,
  sum(wasted) as wasted,
  sum(wasted_ns) as wasted_ns,
  sum(retries) / nullif(sum(steps), 0) as per_step,
  sum(presumed) / nullif(sum(retries), 0) as presumed_share
from chosen
group by group_value, tool
having sum(tasks) <> 0
order by group_value, tool;
