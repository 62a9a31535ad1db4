-- Damage of each tool over time: early, over-cap and wasted retries, validation failures that were not recovered, and
-- escalations after a retry, by when the task ended; settled tasks count.
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
      hour,
      agent,
      service,
      environment,
      tool,
      tasks,
      early + over_cap + wasted + validation_failures - recovered + escalated - clean as damage,
      wasted_ns
    from hourly_tools
    where
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
    union all
    -- its edges: tasks that ended in hours which are not whole
    select
      task_ended_ns - task_ended_ns % 3600000000000 as hour,
      agent,
      service,
      environment,
      tool,
      1 as tasks,
      early + over_cap + wasted + validation_failures - recovered + escalated - clean as damage,
      wasted_ns
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
      hour,
      tool,
      tasks,
      damage,
      wasted_ns
    from counted
    where
      ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  ),
  lasting as (
    select
      max(hour) - min(hour) as length_ns
    from chosen
  ),
  scale as (
    -- at most 48 parts of 1, 2, 3, 6, 12 or 24 hours, of a week beyond 48 days
    select
      case
        when length_ns < 172800000000000 then 3600000000000
        when length_ns < 345600000000000 then 7200000000000
        when length_ns < 518400000000000 then 10800000000000
        when length_ns < 1036800000000000 then 21600000000000
        when length_ns < 2073600000000000 then 43200000000000
        when length_ns < 4147200000000000 then 86400000000000
        else 604800000000000
      end as width_ns
    from lasting
  ),
  placed as (
    select
      group_value,
      tool,
      hour - hour % width_ns as begin_ns,
      width_ns,
      tasks,
      damage,
      wasted_ns
    from chosen
    cross join scale
  )
select
  group_value,
  tool,
  begin_ns,
  width_ns,
  sum(tasks) as tasks,
  sum(damage) as damage,
  sum(wasted_ns) as wasted_ns
from placed
group by group_value, tool, begin_ns, width_ns
having sum(tasks) <> 0
order by group_value, tool, begin_ns;
