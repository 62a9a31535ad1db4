-- Whether it is worth looking for what expired: the first arrival, and how many spans there are.
select coalesce(min(arrived_ns) filter (where settled), 9223372036854775807), coalesce(sum(spans), 0)
from traces;
