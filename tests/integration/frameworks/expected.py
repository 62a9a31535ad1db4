"""
The numbers that the trip desk's tasks come to, reckoned by hand, and the same numbers out of a report and a scrape.

Numbers are kept by tool and word; those that are 0 are left out. The words are the outcomes, classes and verdicts, and

- `recovered`: validation failures whose rewrite ended well
- `episodes`, `escalated`, `clean`: permission episodes, those a human heard of, those of which nobody retried before
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, TypeAlias

from prometheus_client.metrics_core import Metric

from toolspan.documents import Report

Numbers: TypeAlias = Counter[tuple[str, str]]

_OUTCOMES: Final = ("ok", "cancelled", "deferred")
_VERDICTS: Final = ("allowed", "early", "over_cap", "wasted")
#: What a series counts, by its name; the rest of the word is the label's value.
_WORDS: Final = {
    "toolspan_calls_total": "outcome",
    "toolspan_errors_total": "class",
    "toolspan_retries_total": "verdict",
}


def numbers(**tools: dict[str, int]) -> Numbers:
    """
    Numbers as they are written down here.
    """
    return Counter({(tool, word): count for tool, words in tools.items() for word, count in words.items()})


#: One task of the disciplined model, which is resolved.
DISCIPLINED: Final = numbers(
    tasks={"resolved": 1},
    search_flights={"ok": 1, "error": 1, "validation": 1, "recovered": 1},
    get_weather={"ok": 1, "error": 1, "transient": 1, "allowed": 1},
    # the human said yes, so the identical call had something to hope for
    refund={"ok": 1, "error": 1, "permission": 1, "allowed": 1, "episodes": 1, "escalated": 1, "clean": 1},
    ask_human={"ok": 1},
    get_invoice={"error": 1, "fatal": 1},
    book_room={"error": 1, "business_rule": 1},
)
#: One task of the stubborn model, with nobody to stop it.
STUBBORN: Final = numbers(
    tasks={"escalated": 1},
    search_flights={"error": 3, "validation": 3, "wasted": 1},
    get_weather={"error": 3, "transient": 3, "early": 1, "over_cap": 1},
    refund={"error": 2, "permission": 2, "wasted": 1, "episodes": 1, "escalated": 1},
    ask_human={"ok": 1},
    get_invoice={"error": 2, "fatal": 2, "wasted": 1},
    book_room={"error": 2, "business_rule": 2, "wasted": 1},
)
#: The same under the guard: what it would waste is cancelled before the tool runs.
GUARDED: Final = numbers(
    tasks={"escalated": 1},
    search_flights={"error": 2, "validation": 2, "cancelled": 1},
    get_weather={"error": 1, "transient": 1, "cancelled": 2},
    # the model did ask once more before the human did, though in vain
    refund={"error": 1, "permission": 1, "cancelled": 1, "episodes": 1, "escalated": 1},
    ask_human={"ok": 1},
    get_invoice={"error": 1, "fatal": 1, "cancelled": 1},
    book_room={"error": 1, "business_rule": 1, "cancelled": 1},
)
#: What is left of the first two where spans show neither arguments nor results: every call seems well and fresh.
UNSEEN: Final = numbers(
    tasks={"resolved": 2},
    search_flights={"ok": 5},
    get_weather={"ok": 5},
    refund={"ok": 4},
    ask_human={"ok": 2},
    get_invoice={"ok": 3},
    book_room={"ok": 3},
)
EXPECTED: Final = {"plain": DISCIPLINED + STUBBORN, "decorated": DISCIPLINED + STUBBORN, "guarded": GUARDED}


def numbers_of_report(report: Report) -> Numbers:
    """
    The numbers of a report.
    """
    found: Numbers = Counter()
    for name in ("resolved", "unresolved", "escalated", "unknown", "open"):
        found["tasks", name] = report["tasks"][name]
    for tool, document in report["tools"].items():
        errors, retries, escalations = document["errors"], document["retries"], document["escalations"]
        found.update({(tool, name): document[name] for name in _OUTCOMES})
        found[tool, "error"] = sum(errors.values())
        found.update({(tool, name): count for name, count in errors.items()})
        found.update({(tool, name): retries[name] for name in _VERDICTS})
        found[tool, "recovered"] = document["validation_recovery"]["recovered"]
        found[tool, "episodes"], found[tool, "escalated"] = escalations["episodes"], escalations["escalated"]
        found[tool, "clean"] = escalations["without_prior_retry"]
    return +found


def numbers_of_scrape(families: Iterable[Metric]) -> Numbers:
    """
    The numbers of a scrape.
    """
    found: Numbers = Counter()
    for sample in (sample for family in families for sample in family.samples):
        labels, count = sample.labels, int(sample.value)
        match sample.name:
            case "toolspan_tasks_total":
                found["tasks", labels["outcome"]] += count
            case "toolspan_validation_recoveries_total":
                found[labels["tool"], "recovered"] += count
            case "toolspan_permission_episodes_total":
                found[labels["tool"], "episodes"] += count
            case "toolspan_escalations_total":
                found[labels["tool"], "escalated"] += count
                found[labels["tool"], "clean"] += count * (labels["prior_retry"] == "false")
            case name if name in _WORDS:
                found[labels["tool"], labels[_WORDS[name]]] += count
            case _:
                pass
    return +found
