-- For each tool and kind of damage (retried in vain, lost to validation, late to a human, never heard of by one) how
-- many tasks have it, and the three of them that have most of it; settled tasks count.
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
      tool,
      early + over_cap + wasted as retried,
      validation_failures - recovered as lost,
      escalated - clean as late,
      episodes - escalated as unheard
    from task_tools
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and early + over_cap + wasted + validation_failures - recovered + episodes - clean > 0
      and ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  ),
  kinds as (
    select
      group_value,
      task,
      task_ended_ns,
      tool,
      'retried' as kind,
      retried as cases
    from chosen
    where retried > 0
    union all
    select
      group_value,
      task,
      task_ended_ns,
      tool,
      'lost' as kind,
      lost as cases
    from chosen
    where lost > 0
    union all
    select
      group_value,
      task,
      task_ended_ns,
      tool,
      'late' as kind,
      late as cases
    from chosen
    where late > 0
    union all
    select
      group_value,
      task,
      task_ended_ns,
      tool,
      'unheard' as kind,
      unheard as cases
    from chosen
    where unheard > 0
  ),
  counted as (
    select
      group_value,
      tool,
      kind,
      cases,
      count(*) as tasks
    from kinds
    group by group_value, tool, kind, cases
  ),
  summed as (
    select
      group_value,
      tool,
      kind,
      cases,
      sum(tasks) over (partition by group_value, tool, kind) as all_tasks,
      sum(tasks) over (partition by group_value, tool, kind order by cases desc) as tasks_down_to
    from counted
  ),
  least as (
    -- how much of it the third-worst task has: only those with as much are put in order, not the hundred thousands
    select
      group_value,
      tool,
      kind,
      max(all_tasks) as tasks,
      coalesce(max(cases) filter (where tasks_down_to >= 3), 1) as cases
    from summed
    group by group_value, tool, kind
  ),
  worst as (
    select
      kinds.group_value as group_value,
      kinds.task as task,
      kinds.task_ended_ns as task_ended_ns,
      kinds.tool as tool,
      kinds.kind as kind,
      kinds.cases as cases,
      least.tasks as tasks,
      row_number() over (
        partition by kinds.group_value, kinds.tool, kinds.kind
        order by kinds.cases desc, kinds.task_ended_ns desc, kinds.task
      ) as place
    from kinds
    join least
      on least.group_value = kinds.group_value
      and least.tool = kinds.tool
      and least.kind = kinds.kind
    where kinds.cases >= least.cases
    qualify place <= 3
  )
select
  worst.group_value as group_value,
  worst.tool as tool,
  worst.kind as kind,
  worst.tasks as tasks,
  tasks.task_id as task_id,
  worst.cases as cases
from worst
join tasks
  on tasks.task = worst.task
  and tasks.ended_ns = worst.task_ended_ns
order by worst.group_value, worst.tool, worst.kind, worst.place;
