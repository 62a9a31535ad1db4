-- The open groups that a writer was the last to be given spans of, and those of which nothing more is expected: all
-- their tasks' spans came and then nothing since $grace_ns, or nothing came since $timeout_ns.
create or replace temporary table due as
select *
from traces
where not settled
  and (writer = $writer or arrived_ns <= case when is_ended then $grace_ns else $timeout_ns end);
