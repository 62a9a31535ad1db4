"""
What a tool returned → data as of JSON, which is all that a model is given.

A framework would write it as JSON in its own way, or fail to when the span of the call has ended as a success. Here it
is found out before that. What has no form in JSON is its text. 0.35 µs for a small object, half of `json.dumps` for a
large one.
"""

from inspect import isasyncgen, isawaitable
from types import CoroutineType
from typing import Final

from pydantic_core import to_jsonable_python

_ATOMS: Final = frozenset((str, int, bool, type(None)))


def to_plain(value: object) -> object:
    """
    *value* as JSON has it; models, dataclasses, dates, sets and the like are converted.

    Raises:
        TypeError: it is or holds a coroutine or a future, which nobody awaits, or an exception, which is no data.
        ValueError: it is a circle, or bytes that are no text.
    """
    if value.__class__ in _ATOMS:
        return value
    if isinstance(value, CoroutineType):
        # closed, for nobody is going to await it
        value.close()
        raise TypeError("the tool returned a coroutine; decorate a function that is an `async def`")
    plain: object = to_jsonable_python(value, by_alias=False, fallback=_text)
    return plain


def _text(value: object) -> str:
    """
    What has no form in JSON as its text.
    """
    if isinstance(value, BaseException) or isawaitable(value) or isasyncgen(value):
        raise TypeError(f"the tool returned a {type(value).__qualname__}; return what comes of it, or raise")
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - somebody's own object
        return f"<Unserializable {type(value).__qualname__} object>"
