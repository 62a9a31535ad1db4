-- Of each tool: calls, those of unknown arguments, failures, those of no class.
select
  tool,
  count(*),
  count(*) filter (where arguments is null),
  count(*) filter (where outcome = 'error'),
  count(*) filter (where outcome = 'error' and class = 'unclassified')
from calls
group by tool
order by tool;
