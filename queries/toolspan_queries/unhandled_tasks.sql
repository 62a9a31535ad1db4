-- Settled tasks, those of them that say resolved, and of these the ones whose last call failed and nobody was told; 0
-- where all tasks are open.
--
-- $since_ns Nullable(Int64): first moment of the window on the task's end, ns since 1970; null: no bound
-- $until_ns Nullable(Int64): first moment after the window; null: no bound
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
      outcome,
      tasks,
      tasks as settled,
      unhandled
    from hourly_tasks
    where
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
    union all
    -- its edges: tasks that ended in hours which are not whole
    select
      agent,
      service,
      environment,
      outcome,
      1 as tasks,
      1 as settled,
      case when unhandled then 1 else 0 end as unhandled
    from tasks
    where
      settled
      and ($since_ns is null or ended_ns >= $since_ns)
      and ($until_ns is null or ended_ns < $until_ns)
      and (
        ended_ns - (3600000000000 - $since_ns % 3600000000000) % 3600000000000 < $since_ns
        or ended_ns >= $until_ns - $until_ns % 3600000000000
      )
    union all
    -- open tasks, which no window with an end holds
    select
      agent,
      service,
      environment,
      outcome,
      1 as tasks,
      0 as settled,
      0 as unhandled
    from tasks
    where
      not settled
      and $until_ns is null
      and ($since_ns is null or ended_ns >= $since_ns)
  ),
  chosen as (
    select
      case $by
        when 'agent' then agent
        when 'service' then service
        when 'environment' then environment
        else ''
      end as group_value,
      outcome,
      tasks,
      settled,
      unhandled
    from counted
    where
      ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  )
select
  group_value,
  sum(settled) as settled,
  coalesce(sum(settled) filter (where outcome = 'resolved'), 0) as resolved,
  sum(unhandled) as unhandled,
  sum(unhandled) / nullif(sum(settled) filter (where outcome = 'resolved'), 0) as unhandled_share
from chosen
group by group_value
having sum(tasks) <> 0
order by group_value;
