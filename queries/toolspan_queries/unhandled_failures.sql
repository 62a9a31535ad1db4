-- Unhandled failures, the latest first: the last call, by its end, of each settled task that says resolved though this
-- call failed with a class other than business_rule and no escalation came at or after its end.
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
      ended_ns,
      task_id,
      name
    from tasks
    where
      unhandled
      and settled
      and ($since_ns is null or ended_ns >= $since_ns)
      and ($until_ns is null or ended_ns < $until_ns)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  ),
  last_calls as (
    select
      chosen.group_value as group_value,
      chosen.task_id as task_id,
      chosen.name as name,
      calls.tool as tool,
      calls.class as class,
      calls.code as code,
      calls.started_ns + calls.duration_ns as ended_ns
    from chosen
    join calls
      on calls.task = chosen.task
      and calls.task_ended_ns = chosen.ended_ns
    where calls.outcome = 'error'
    qualify row_number() over (
      partition by chosen.task_id
      order by
        calls.started_ns + calls.duration_ns desc,
        calls.started_ns desc,
        calls.span_id desc,
        calls.trace_hi desc,
        calls.trace_lo desc
    ) = 1
  )
select
  group_value,
  task_id,
  name as task,
  tool,
  class as error_class,
  coalesce(code, 'UNCLASSIFIED') as code,
  ended_ns
from last_calls
where $tool is null or tool = $tool
order by group_value, ended_ns desc, task_id;
