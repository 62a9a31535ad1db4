"""
How a failure was answered: what its row keeps, so that no query has to find the answer again.
"""

from typing import Final, NamedTuple

from toolspan.quality import tells_of_class
from toolspan.records import Call
from toolspan.taxonomy import ErrorClass


class Answer(NamedTuple):
    """
    The *verdict* on the retry of a failure; whether it was *recovered* by a rewrite that ended ok, *accepted* by one
    that was no validation failure, *audited* by an identical call whose end tells of the class, one that ended ok.
    """

    verdict: str | None = None
    recovered: bool = False
    accepted: bool = False
    audited: bool = False
    audited_ok: bool = False


NO_ANSWER: Final = Answer()


def answer_of(failure: Call, answer: Call | None) -> Answer:
    """
    What *answer* means for *failure*.
    """
    if answer is None:
        return NO_ANSWER
    is_rewrite, is_ok = answer.follow_up == "rewrite", answer.outcome == "ok"
    audited = tells_of_class(failure, answer)
    return Answer(
        answer.verdict,
        is_rewrite and is_ok,
        is_rewrite and answer.error_class != ErrorClass.VALIDATION,
        audited,
        audited and is_ok,
    )
