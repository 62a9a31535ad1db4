"""
Envelopes as results of MCP tools (`CallToolResult`), and the other way round.

The whole envelope stands in `structuredContent`, and as JSON in a text for clients that read nothing else; `isError`
says what `ok` says. It is what a model sees, so the message stays behind; the rest survives there and back.

A foreign result need not hold an envelope. Then `isError` alone says that it failed, an error document in it which
class; and what succeeded is the structured content, else the texts, else the content as it is. Back and there again
keeps none of its other content nor `_meta`.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolspan.envelopes.envelope import Envelope, Failure, parse_envelope, success
from toolspan.envelopes.foreign_failures import foreign_failure
from toolspan.errors import EnvelopeError
from toolspan.evidence.error_documents import name_document, read_envelope, retry_after_of
from toolspan.evidence.payloads import is_array, is_object, parse

Document = dict[str, object]

_STRUCTURED: Final = ("structuredContent", "structured_content")
_IS_ERROR: Final = ("isError", "is_error")
#: Servers put what is no object under this key.
_WRAPPER: Final = "result"
_MAX_CONTENT: Final = 16


def to_mcp(envelope: Envelope) -> Document:
    """
    *envelope* as the result of an MCP tool.

    Raises:
        EnvelopeError: its data cannot be written as JSON.
    """
    try:
        document: object = to_jsonable_python(envelope.to_model(), inf_nan_mode="null")
        text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise EnvelopeError(f"data cannot be written as JSON: {error}; return what JSON has") from None
    content: Document = {"type": "text", "text": text}
    return {"content": [content], "structuredContent": document, "isError": not envelope.ok}


def from_mcp(document: object) -> Envelope:
    """
    The envelope that *document*, the result of an MCP tool, holds, else the one that says what it says.

    Raises:
        EnvelopeError: it is no such result.
    """
    if not is_object(document) or not (document.keys() & {"content", *_STRUCTURED, *_IS_ERROR}):
        raise EnvelopeError("An MCP tool's result is an object with content, and perhaps isError; this is none")
    is_error = _first(document, _IS_ERROR) is True
    for value in _values(document):
        if is_object(value) and isinstance(value.get("ok"), bool):
            return _of_envelope(value, is_error=is_error)
    return _foreign_error(document) if is_error else success(_data(document))


def _of_envelope(given: Mapping[str, object], *, is_error: bool) -> Envelope:
    try:
        envelope = parse_envelope(given)
    except EnvelopeError:
        return _repaired(given, is_error=is_error)
    # what says both that it failed and that it did not has failed
    return foreign_failure(None, message="isError beside ok: true") if is_error and envelope.ok else envelope


def _repaired(given: Mapping[str, object], *, is_error: bool) -> Envelope:
    """
    What can be relied on of an envelope that breaks a rule.
    """
    error = given.get("error")
    if given["ok"] is True and not is_error and not error:
        return success(given.get("data"))
    reading = read_envelope(given)
    stated: Mapping[str, object] = error if is_object(error) else {}
    return foreign_failure(
        None if reading.named is None or reading.named.error_class == "unclassified" else reading.named,
        hint=stated.get("hint"),
        field=reading.field,
        retry_after_ms=reading.retry_after_ms,
        message=stated.get("message"),
    )


def _foreign_error(document: Mapping[str, object]) -> Failure:
    values = list(_values(document))
    for value in values:
        for error in (value, value.get("error")) if is_object(value) else ():
            named = name_document(error) if is_object(error) else None
            if named is not None and is_object(error):
                return foreign_failure(named, retry_after_ms=retry_after_of(error), message=_text(document))
    return foreign_failure(None, message=_text(document))


def _values(document: Mapping[str, object]) -> Iterator[object]:
    """
    What may be an envelope: the structured content, what servers wrap in it, and each text.
    """
    structured = _first(document, _STRUCTURED)
    yield structured
    if is_object(structured) and len(structured) == 1:
        yield structured.get(_WRAPPER)
    for text in _texts(document):
        yield parse(text)


def _texts(document: Mapping[str, object]) -> list[str]:
    content = document.get("content")
    items = content[:_MAX_CONTENT] if is_array(content) else ()
    return [text for item in items if is_object(item) and isinstance(text := item.get("text"), str)]


def _text(document: Mapping[str, object]) -> str:
    return "\n".join(_texts(document))


def _data(document: Mapping[str, object]) -> object:
    structured, content = _first(document, _STRUCTURED), document.get("content")
    if structured is not None:
        return structured
    texts = _texts(document)
    is_all_text = is_array(content) and len(texts) == len(content)
    return (texts[0] if len(texts) == 1 else texts) if texts and is_all_text else content


def _first(document: Mapping[str, object], keys: tuple[str, ...]) -> object:
    return next((document[key] for key in keys if document.get(key) is not None), None)
