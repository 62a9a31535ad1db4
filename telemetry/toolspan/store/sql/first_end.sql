-- When the first task ended, of those that ended at $after_ns or later and before $before_ns.
select min(ended_ns) from tasks where ended_ns >= $after_ns and ended_ns < $before_ns;
