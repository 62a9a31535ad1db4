"""
What the queries of the pages answer with, row by row, as in `rows`: what a chart or a list of tasks is made of.
"""

from typing import NamedTuple


class DamageOverTime(NamedTuple):
    """
    A row of `damage_over_time`: one for each tool and part of the window in which tasks ended.
    """

    group_value: str
    tool: str
    begin_ns: int
    width_ns: int
    tasks: int
    damage: int
    wasted_ns: int


class RetriesOverTime(NamedTuple):
    """
    A row of `retries_over_time`: one for each tool, part of the window and number of retries.
    """

    group_value: str
    tool: str
    begin_ns: int
    width_ns: int
    retries: int
    tasks: int


class NextActions(NamedTuple):
    """
    A row of `next_actions`: one for each tool, class and what was done next.
    """

    group_value: str
    tool: str
    error_class: str
    next_action: str
    failures: int
    in_vain: int
    wasted_ns: int


class CodesSeen(NamedTuple):
    """
    A row of `codes_seen`: one for each tool, class and code.
    """

    group_value: str
    tool: str
    error_class: str
    code: str
    failures: int
    first_ns: int
    last_ns: int


class WorstTasks(NamedTuple):
    """
    A row of `worst_tasks`: one for each of these tasks.
    """

    group_value: str
    task_id: str
    task: str
    outcome: str
    ended_ns: int
    calls: int
    retries: int
    damage: int
    wasted_ns: int


class ExampleTasks(NamedTuple):
    """
    A row of `example_tasks`: one for each tool, kind of damage and example.
    """

    group_value: str
    tool: str
    kind: str
    tasks: int
    task_id: str
    cases: int
