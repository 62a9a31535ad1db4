"""
Four tasks whose numbers can be computed by hand:

| task | agent | ended | outcome | what `search` did |
|---|---|---|---|---|
| t1 | planner | 1:30 | resolved | a bad date, rewritten; busy, retried: two steps |
| t2 | planner | 2:10 | unresolved | denied, retried in vain, escalated after that |
| t3 | "" | 3:05 | resolved | called twice; the second took two tries inside the tool |
| t4 | planner | 3:20, open | unknown | failed, and nothing says why; retried too often, with a bad size |

t1 also called `book` once.

`book` was called once, by t1, too.
"""

from tests.rows import MS, call, failed, retry, rewrite, rows, task, task_tool
from toolspan.records import Rows, Task

MINUTE_MS = 60_000


def ended(name: str, hours: int, minutes: int, outcome: str, *, agent: str = "planner") -> Task:
    """
    A task that ended so late.
    """
    return task(name, outcome, end=(60 * hours + minutes) * MINUTE_MS, agent=agent)


def scene() -> Rows:
    """
    The four tasks.
    """
    return rows(
        [
            failed(call(1, end=10), "validation", "FORMAT", field="date"),
            rewrite(call(2, start=20, end=40), of=1),
            failed(call(3, start=50, end=80), "transient", "BUSY"),
            retry(call(4, start=90, end=130), of=3, verdict="allowed", presumed=True),
            call(5, "book", start=140, end=190),
            failed(call(6, task="t2", end=60), "permission", "DENIED"),
            retry(failed(call(7, task="t2", start=70, end=140), "permission", "DENIED"), of=6, verdict="wasted"),
            call(8, task="t3", end=80)._replace(agent=""),
            call(9, task="t3", start=100, end=190)._replace(agent="", attempts=2, waited_ms=5),
            failed(call(10, task="t4", end=100), "unclassified", "UNCLASSIFIED"),
            retry(
                failed(call(11, task="t4", start=110, end=220), "validation", "RANGE", field="size"),
                of=10,
                verdict="over_cap",
            ),
        ],
        [
            ended("t1", 1, 30, "resolved"),
            ended("t2", 2, 10, "unresolved"),
            ended("t3", 3, 5, "resolved", agent=""),
            ended("t4", 3, 20, "unknown")._replace(settled=False),
        ],
        [
            task_tool("t1", calls=4, steps=2)._replace(
                retries=1, presumed=1, allowed=1, validation_failures=1, recovered=1, accepted=1
            ),
            task_tool("t1", "book"),
            task_tool("t2", calls=2)._replace(retries=1, wasted=1, wasted_ns=80 * MS, episodes=1, escalated=1),
            task_tool("t3", calls=2, steps=2),
            task_tool("t4", calls=2)._replace(retries=1, over_cap=1, validation_failures=1),
        ],
    )
