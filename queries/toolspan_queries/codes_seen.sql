-- Failed calls of each tool by error class and code, with the starts of the first and of the last of them; every call
-- counts, those of open tasks too.
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
      class,
      coalesce(code, 'UNCLASSIFIED') as code,
      started_ns
    from calls
    where
      (settled or $until_ns is null)
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and outcome = 'error'
      and ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  )
select
  group_value,
  tool,
  class as error_class,
  code,
  count(*) as failures,
  min(started_ns) as first_ns,
  max(started_ns) as last_ns
from chosen
group by group_value, tool, class, code
order by group_value, tool, failures desc, class, code;
