-- Percentiles of how long the calls of a tool took: nearest rank over durations rounded to three significant digits,
-- half up; every call counts, those of open tasks too.
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
      case when duration_ns > 0 then duration_ns else 0 end as duration_ns
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
      case when duration_ns > 0 then duration_ns else 0 end as duration_ns
    from calls
    where
      not settled
      and $until_ns is null
      and ($since_ns is null or task_ended_ns >= $since_ns)
  ),
  measured as (
    select
      agent,
      service,
      environment,
      tool,
      duration_ns,
      cast(pow(10, greatest(length(cast(duration_ns as varchar)) - 3, 0)) as bigint) as unit
    from single
  ),
  counted as (
    -- the whole hours of the window; 3600000000000 ns are one
    select
      agent,
      service,
      environment,
      tool,
      duration_ns,
      calls
    from hourly_durations
    where
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
    union all
    select
      agent,
      service,
      environment,
      tool,
      duration_ns - duration_ns % unit + case when 2 * (duration_ns % unit) >= unit then unit else 0 end as duration_ns,
      1 as calls
    from measured
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
      duration_ns,
      calls
    from counted
    where
      ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  ),
  summed as (
    select
      group_value,
      tool,
      duration_ns,
      sum(calls) as calls
    from chosen
    group by group_value, tool, duration_ns
    having sum(calls) <> 0
  ),
  ranked as (
    select
      group_value,
      tool,
      duration_ns,
      sum(calls) over (partition by group_value, tool order by duration_ns) as calls_up_to,
      sum(calls) over (partition by group_value, tool) as all_calls
    from summed
  )
select
  group_value,
  tool,
  max(all_calls) as calls,
  min(duration_ns) filter (where calls_up_to * 100 >= all_calls * 50) as p50_ns,
  min(duration_ns) filter (where calls_up_to * 100 >= all_calls * 95) as p95_ns
from ranked
group by group_value, tool
order by group_value, tool;
