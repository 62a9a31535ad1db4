"""
The functions of the pages' queries, as in `frames`.
"""

from typing import TYPE_CHECKING, Unpack

from toolspan_queries import page_rows
from toolspan_queries._asking import Asked, Connection
from toolspan_queries.frames import frame

if TYPE_CHECKING:
    import pandas as pd


def damage_over_time(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Damage of each tool over time: early, over-cap and wasted retries, validation failures that were not recovered, and
    escalations after a retry, by when the task ended; settled tasks count.

    Columns: *group_value*, *tool*; nanoseconds since 1970: *begin_ns*, where a part of the window begins that is
    *width_ns* long; tasks that called the tool: *tasks*; their *damage*; nanoseconds: *wasted_ns*.
    """
    return frame(connection, page_rows.DamageOverTime, **asked)


def retries_over_time(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Resolved tasks that called a tool, by how often they retried it and by when they ended: the distribution behind the
    percentiles, over time.

    Columns: *group_value*, *tool*; nanoseconds since 1970: *begin_ns*, where a part of the window begins that is
    *width_ns* long; of one task: *retries*; resolved tasks with so many: *tasks*.
    """
    return frame(connection, page_rows.RetriesOverTime, **asked)


def next_actions(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Failures of each tool by error class and by what the agent did next, with the retries of them that are damage and
    the time from the failures to the ends of wasted retries; settled tasks count.

    Columns: *group_value*, *tool*, *error_class*, *next_action* (retry, rewrite, other, escalated, nothing); calls that
    failed: *failures* and, of them, *in_vain* (retried early, over the cap, or wasted); nanoseconds: *wasted_ns*.
    """
    return frame(connection, page_rows.NextActions, **asked)


def codes_seen(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    Failed calls of each tool by error class and code, with the starts of the first and of the last of them; every call
    counts, those of open tasks too.

    Columns: *group_value*, *tool*, *error_class*, *code*; calls that failed: *failures*; nanoseconds since 1970:
    *first_ns*, *last_ns*.
    """
    return frame(connection, page_rows.CodesSeen, **asked)


def worst_tasks(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    The hundred tasks with the most damage, the worst first: early, over-cap and wasted retries, validation failures
    that were not recovered, and escalations after a retry; settled tasks count.

    Columns: *group_value*, *task_id*, *task* (its name), *outcome*; nanoseconds since 1970: *ended_ns*; *calls* of the
    task (of the tool, where one is asked for), *retries* and *damage*; nanoseconds: *wasted_ns*.
    """
    return frame(connection, page_rows.WorstTasks, **asked)


def example_tasks(connection: Connection, /, **asked: Unpack[Asked]) -> "pd.DataFrame":
    """
    For each tool and kind of damage (retried in vain, lost to validation, late to a human, never heard of by one) how
    many tasks have it, and the three of them that have most of it; settled tasks count.

    Columns: *group_value*, *tool*, *kind* (retried, lost, late, unheard); tasks with such damage: *tasks*; *task_id* of
    an example, and how often it has it: *cases*.
    """
    return frame(connection, page_rows.ExampleTasks, **asked)
