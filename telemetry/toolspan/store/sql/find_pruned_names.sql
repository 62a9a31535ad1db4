-- Of the asked tasks, those that the store has and keeps no spans of.
select task
from tasks
semi join asked_tasks using (task)
anti join traces using (trace_hi, trace_lo);
