-- When the first task ended, and the last of the $most first ones, of those that ended at $after_ns or later and before
-- $before_ns.
select min(ended_ns), max(ended_ns)
from (
  select ended_ns from tasks where ended_ns >= $after_ns and ended_ns < $before_ns order by ended_ns limit $most
);
