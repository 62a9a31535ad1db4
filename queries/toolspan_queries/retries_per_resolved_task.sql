-- Retries per resolved task: how often each resolved task that called a tool retried it, as mean, percentiles by
-- nearest rank, and the tail, the share of those tasks with more than one retry.
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
      retries,
      tasks
    from hourly_tools
    where
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
      and task_outcome = 'resolved'
    union all
    -- its edges: tasks that ended in hours which are not whole
    select
      agent,
      service,
      environment,
      tool,
      retries,
      1 as tasks
    from task_tools
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and (
        task_ended_ns - (3600000000000 - $since_ns % 3600000000000) % 3600000000000 < $since_ns
        or task_ended_ns >= $until_ns - $until_ns % 3600000000000
      )
      and task_outcome = 'resolved'
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
      retries,
      tasks
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
      retries,
      sum(tasks) as tasks
    from chosen
    group by group_value, tool, retries
    having sum(tasks) <> 0
  ),
  ranked as (
    select
      group_value,
      tool,
      retries,
      tasks,
      sum(tasks) over (partition by group_value, tool order by retries) as tasks_up_to,
      sum(tasks) over (partition by group_value, tool) as all_tasks
    from summed
  )
select
  group_value,
  tool,
  max(all_tasks) as resolved_tasks,
  sum(retries * tasks) as retries,
  sum(retries * tasks) / max(all_tasks) as mean,
  min(retries) filter (where tasks_up_to * 100 >= all_tasks * 50) as p50,
  min(retries) filter (where tasks_up_to * 100 >= all_tasks * 95) as p95,
  min(retries) filter (where tasks_up_to * 100 >= all_tasks * 99) as p99,
  max(retries) as max,
  coalesce(sum(tasks) filter (where retries > 1), 0) as tasks_in_tail,
  coalesce(sum(tasks) filter (where retries > 1), 0) / max(all_tasks) as tail
from ranked
group by group_value, tool
order by group_value, tool;
