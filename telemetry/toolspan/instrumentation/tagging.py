"""
The facts of a tool span → the tags that are written on what leaves the process.

Tags are for whoever looks at spans elsewhere: a trace viewer, a backend that groups by class. Who counts calls derives
them anew from the span's own evidence: derived tags carry `toolspan.tagged = processor` and give way to it. So what
the tool stated itself is never touched, and gets no such mark.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from toolspan import attributes as attr
from toolspan import conventions as conv
from toolspan.instrumentation.followups import Answer
from toolspan.records import CallFacts, Judgement
from toolspan.taxonomy import MODEL_RETRY_CODE, UNCLASSIFIED_CODE, ErrorClass

#: What a tag can hold.
TagValue: TypeAlias = str | int | bool
Tags: TypeAlias = dict[str, TagValue]

#: A span with one of these says itself how its call ended.
_STATED: Final = frozenset((attr.ERROR_CLASS, attr.ERROR_CODE, attr.CALL_OUTCOME))
_NAME: Final = conv.TOOL_NAME[0]
# looking up a member of an enum takes 60 ns, a constant 5
_VALIDATION: Final = str(ErrorClass.VALIDATION.value)
_UNCLASSIFIED: Final = str(ErrorClass.UNCLASSIFIED.value)


def is_tagged(attributes: Mapping[str, object]) -> bool:
    """
    Whether a span with *attributes* carries derived tags already.
    """
    return attributes.get(attr.TAGGED) == attr.TAGGED_BY_PROCESSOR


def tags_of(call: CallFacts, attributes: Mapping[str, object], answer: Answer | None = None) -> Tags:
    """
    The tags that a span with *attributes*, of which *call* was recognised, lacks.

    *answer* is the earlier failure that the call is thought to answer.
    """
    tags: Tags = {}
    if attributes.get(_NAME) is None:
        tags[_NAME] = call.tool
    judgement = call.judgement
    if _STATED.isdisjoint(attributes):
        tags[attr.TAGGED] = attr.TAGGED_BY_PROCESSOR
        tags[attr.CALL_OUTCOME] = judgement.outcome
        # a call that was made was tried at least once
        tags[attr.CALL_ATTEMPTS] = call.attempts or 1
        if call.args_hash is not None:
            tags[attr.CALL_ARGS_HASH] = call.args_hash
        tags.update(_failure(judgement))
    elif judgement.outcome == "error" and judgement.code is not None:
        tags[attr.ERROR_TYPE] = judgement.code
    if attributes.get(attr.ERROR_TYPE) is not None:
        tags.pop(attr.ERROR_TYPE, None)
    if answer is not None and attributes.get(attr.CALL_FOLLOWS) is None:
        tags[attr.CALL_FOLLOWS] = answer.failure.hex()
        tags[attr.CALL_FOLLOW_UP] = answer.kind
    return tags


def _failure(judgement: Judgement) -> Tags:
    """
    What is written of a call that failed, or that a human rejected.
    """
    if judgement.outcome != "error":
        # the code of a call that is not over, or of one that a span around it made fail, is no code of this one
        return {attr.ERROR_CODE: judgement.code} if judgement.outcome == "cancelled" and judgement.code else {}
    error_class, code = judgement.error_class, judgement.code
    if error_class is None and judgement.model_retry:
        error_class, code = _VALIDATION, MODEL_RETRY_CODE
    code = code or UNCLASSIFIED_CODE
    tags: Tags = {attr.ERROR_CLASS: error_class or _UNCLASSIFIED, attr.ERROR_CODE: code, attr.ERROR_TYPE: code}
    if judgement.field is not None:
        tags[attr.ERROR_FIELD] = judgement.field
    if judgement.retry_after_ms is not None:
        tags[attr.ERROR_RETRY_AFTER_MS] = judgement.retry_after_ms
    return tags
