-- Failures of each tool by error class and by what the agent did next, with the retries of them that are damage and the
-- time from the failures to the ends of wasted retries; settled tasks count.
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
      tool,
      span_id,
      class,
      coalesce(next_action, 'nothing') as next_action,
      answer_verdict
    from calls
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and outcome = 'error'
      and ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  ),
  wasted as (
    -- the time stands with the retry, the class with the failure
    select
      task,
      tool,
      follows,
      wasted_ns
    from calls
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and verdict = 'wasted'
  )
select
  chosen.group_value as group_value,
  chosen.tool as tool,
  chosen.class as error_class,
  chosen.next_action as next_action,
  count(*) as failures,
  count(*) filter (where chosen.answer_verdict in ('early', 'over_cap', 'wasted')) as in_vain,
  coalesce(sum(wasted.wasted_ns), 0) as wasted_ns
from chosen
left join wasted
  on wasted.task = chosen.task
  and wasted.tool = chosen.tool
  and wasted.follows = chosen.span_id
group by chosen.group_value, chosen.tool, chosen.class, chosen.next_action
order by chosen.group_value, chosen.tool, chosen.class, chosen.next_action;
