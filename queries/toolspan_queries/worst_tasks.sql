-- The hundred tasks with the most damage, the worst first: early, over-cap and wasted retries, validation failures that
-- were not recovered, and escalations after a retry; settled tasks count.
--
-- $since_ns Nullable(Int64): first moment of the window on the task's end, ns since 1970; null: no bound
-- $until_ns Nullable(Int64): first moment after the window; null: no bound
-- $tool Nullable(String): this tool; null: all
-- $agent Nullable(String): tasks of this agent, '' where it is unknown; null: all
-- $service Nullable(String): tasks of this service, '' where it is unknown; null: all
-- $environment Nullable(String): tasks of this environment, '' where it is unknown; null: all
-- $by String: whose value group_value is: agent, service, environment; '': nobody's, all in one group
with
  chosen as (
    select
      case $by
        when 'agent' then agent
        when 'service' then service
        when 'environment' then environment
        else ''
      end as group_value,
      task,
      task_ended_ns,
      calls,
      retries,
      early + over_cap + wasted + validation_failures - recovered + escalated - clean as damage,
      wasted_ns
    from task_tools
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and early + over_cap + wasted + validation_failures - recovered + escalated - clean > 0
      and ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  ),
  summed as (
    select
      group_value,
      task,
      task_ended_ns,
      sum(calls) as calls,
      sum(retries) as retries,
      sum(damage) as damage,
      sum(wasted_ns) as wasted_ns
    from chosen
    group by group_value, task, task_ended_ns
  ),
  worst as (
    select
      group_value,
      task,
      task_ended_ns,
      calls,
      retries,
      damage,
      wasted_ns
    from summed
    order by damage desc, wasted_ns desc, task_ended_ns desc, task
    limit 100
  )
select
  worst.group_value as group_value,
  tasks.task_id as task_id,
  tasks.name as task,
  tasks.outcome as outcome,
  tasks.ended_ns as ended_ns,
  worst.calls as calls,
  worst.retries as retries,
  worst.damage as damage,
  worst.wasted_ns as wasted_ns
from worst
join tasks
  on tasks.task = worst.task
  and tasks.ended_ns = worst.task_ended_ns
order by worst.group_value, worst.damage desc, worst.wasted_ns desc, tasks.ended_ns desc, tasks.task_id;
