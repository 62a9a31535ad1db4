-- The chosen tasks, and the groups they are in, are over.
update calls set settled = true from chosen
where calls.task = chosen.task and task_ended_ns between $first_ns and $last_ns;

update escalations set settled = true from chosen
where escalations.task = chosen.task and task_ended_ns between $first_ns and $last_ns;

update episodes set settled = true from chosen
where episodes.task = chosen.task and task_ended_ns between $first_ns and $last_ns;

update task_tools set settled = true from chosen
where task_tools.task = chosen.task and task_ended_ns between $first_ns and $last_ns;

update tasks set settled = true from chosen
where tasks.task = chosen.task and tasks.ended_ns between $first_ns and $last_ns;

update traces set settled = true from due
where traces.trace_hi = due.trace_hi and traces.trace_lo = due.trace_lo;
