-- Failed calls of no class by the evidence that said that they failed, the most frequent first, so that it can be given
-- one; every call counts, those of open tasks too.
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
      evidence
    from calls
    where
      outcome = 'error'
      and class = 'unclassified'
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or (settled and task_ended_ns < $until_ns))
      and ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  )
select
  group_value,
  tool,
  evidence,
  count(*) as failures
from chosen
group by group_value, tool, evidence
order by group_value, tool, failures desc, evidence;
