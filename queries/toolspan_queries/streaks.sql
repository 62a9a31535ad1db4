-- Same-error streak: the longest run of consecutive failures of each tool with one code in one settled task, whatever
-- the arguments. An ok call breaks it, cancelled and deferred ones do not; among equals the first code, then the first
-- task.
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
      tool,
      task,
      task_ended_ns,
      streak,
      coalesce(streak_code, '') as code
    from task_tools
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and streak > 0
      and ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  ),
  by_code as (
    select
      group_value,
      tool,
      code,
      max(streak) as streak
    from chosen
    group by group_value, tool, code
  ),
  longest as (
    select
      group_value,
      tool,
      code,
      streak
    from by_code
    qualify row_number() over (partition by group_value, tool order by streak desc, code) = 1
  )
select
  longest.group_value as group_value,
  longest.tool as tool,
  longest.streak as longest,
  longest.code as code,
  min(tasks.task_id) as task_id
from longest
join chosen
  on chosen.group_value = longest.group_value
  and chosen.tool = longest.tool
  and chosen.code = longest.code
  and chosen.streak = longest.streak
join tasks
  on tasks.task = chosen.task
  and tasks.ended_ns = chosen.task_ended_ns
group by longest.group_value, longest.tool, longest.streak, longest.code
order by longest.group_value, longest.tool;
