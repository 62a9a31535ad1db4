"""
A call's arguments, reduced to a keyed hash: two calls are compared, what they said is not kept.

Arguments are equal as JSON values: key order, spacing and 1 against 1.0 make no difference. What a framework wraps
around them changes with every call (step numbers, checkpoint ids, the call id itself), so known wrappers are opened
first. Empty and redacted arguments are unknown arguments: None.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from typing import Any, Final, cast

from toolspan.evidence.payloads import MAX_JSON_CHARS, integral, is_array, is_object, parse

#: OpenLLMetry on LangChain: {input_str, tags, metadata, inputs, kwargs}; metadata and kwargs change with each call.
_RUN_INPUT: Final = "input_str"
_RUN_KEYS: Final = frozenset((_RUN_INPUT, "tags", "metadata", "inputs", "kwargs"))
#: Keys under which a wrapper holds the arguments.
_WRAPPER_KEYS: Final = ("arguments", "kwargs", "inputs", "args", "input", "tool_input", "parameters")
#: What may stand beside them, where it says no more than the span does: a name, an id, a kind of message.
_NAME_KEYS: Final = frozenset(("name", "tool_name"))
_ID_KEYS: Final = frozenset(("id", "call_id", "tool_call_id"))
_CALL_TYPES: Final = frozenset(("function", "tool_call", "tool_use"))
#: A switch of smolagents' wrapper around every tool.
_SWITCHES: Final = frozenset(("sanitize_inputs_outputs",))
#: Nothing, a word for "taken out" or for "none" in whatever brackets, or stars.
_REDACTED: Final = re.compile(
    r"[\s*_<>\[\](){}\"'.-]*"
    r"(redacted|filtered|masked|scrubbed|omitted|hidden|removed|not specified|null|none)?"
    r"[\s*_<>\[\](){}\"'.-]*",
    re.IGNORECASE,
)
_MAX_REDACTED_CHARS: Final = 64
_MAX_DEPTH: Final = 4
#: A hash begins with the id of its key, this long; hashes of different keys cannot be compared.
KEY_ID_CHARS: Final = 4
#: 64 bits: within one task two different arguments meet by chance once in 10^19.
_DIGEST_BYTES: Final = 8
_HASH: Final = re.compile(f"[0-9a-f]{{{KEY_ID_CHARS + 2 * _DIGEST_BYTES}}}")


def _chunk_encoder() -> Callable[[object, int], Iterable[str]]:
    """
    The encoder of canonical JSON, built once where CPython lets us: 0.7 µs a call, `JSONEncoder.encode` 1.4.
    """
    plain = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _level: plain.iterencode(value)
    encoder: Callable[[object, int], Iterable[str]] = make(
        None, plain.default, json.encoder.encode_basestring_ascii, None, ":", ",", True, False, True
    )
    return encoder


_chunks: Final = _chunk_encoder()


def _speller() -> Callable[[bytes], bytes | None]:
    """
    What gives the canonical JSON of a text in ASCII that is a JSON object, no wrapper and not empty, in 0.6 µs (`parse`
    and `canonical` take 2); None where it cannot be sure to give what those give.

    msgspec refuses more than they do, and writes ASCII as they do but for DEL, numbers as the hook has them.
    """
    try:
        msgspec: Any = import_module("msgspec")
    except ImportError:  # the base installation has none
        return lambda _text: None

    def read_float(text: str) -> object:
        number = integral(text)
        return msgspec.Raw(repr(number).encode()) if isinstance(number, float) else number

    decode: Callable[[bytes], object] = msgspec.json.Decoder(float_hook=read_float).decode
    encode: Callable[[object], bytes] = msgspec.json.Encoder(order="sorted").encode
    refusals: Final = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)

    def spell(text: bytes) -> bytes | None:
        if not text.isascii() or b"\\u" in text or b"\x7f" in text or len(text) > MAX_JSON_CHARS:
            return None
        try:
            value = decode(text)
            is_plain = value.__class__ is dict and value and _SUSPECTS.isdisjoint(cast("dict[str, object]", value))
            return encode(value) if is_plain else None
        except refusals:
            return None

    return spell


_spell: Final = _speller()
#: A wrapper has one of these at its top; arguments that have none are hashed as they are.
_SUSPECTS: Final = frozenset((*_WRAPPER_KEYS, _RUN_INPUT, "function"))


def unwrap(value: object, *, tool: str = "", call_id: str = "") -> object:
    """
    The arguments inside the wrappers that frameworks put around them, for a call of *tool* with *call_id*.

    A wrapper is opened only where what stands beside the arguments says nothing that the span does not say itself: a
    tool may well have an argument `id` beside one named `input`.
    """
    for _ in range(_MAX_DEPTH):
        inner = parse(value) if isinstance(value, str) else _open(value, tool, call_id)
        if inner is value:
            return value
        value = inner
    return value


def _open(value: object, tool: str, call_id: str) -> object:
    if not is_object(value):
        return value
    if "metadata" in value and isinstance(value.get(_RUN_INPUT), str) and value.keys() <= _RUN_KEYS:
        return value.get("inputs") or value[_RUN_INPUT]
    function = value.get("function")
    if is_object(function) and function.get("name") == tool and _says_nothing(value, "function", tool, call_id):
        return function.get("arguments")
    for key in _WRAPPER_KEYS:
        inner = value.get(key)
        # a text under the key is the tool's own argument unless it holds data
        holds_data = is_object(inner) or (isinstance(inner, str) and inner.startswith("{"))
        if holds_data and _says_nothing(value, key, tool, call_id):
            return inner
    return value


def _says_nothing(value: Mapping[str, object], key: str, tool: str, call_id: str) -> bool:
    """
    Whether what stands beside *key* in *value* is known without it.
    """
    is_named = any(value.get(name) == tool for name in _NAME_KEYS if name in value)
    for other, said in value.items():
        is_known = (
            other == key
            or other in _SWITCHES
            or (other in _NAME_KEYS and said == tool)
            or (other in _ID_KEYS and (is_named or key == "function" or (bool(call_id) and said == call_id)))
            or (other == "type" and said in _CALL_TYPES)
            or (other == "args" and is_array(said) and not said)
        )
        if not is_known:
            return False
    return True


def is_unknown(value: object) -> bool:
    """
    Whether *value* is no arguments at all: absent, empty, or a word put in their place.
    """
    if isinstance(value, str):
        return len(value) < _MAX_REDACTED_CHARS and _REDACTED.fullmatch(value) is not None
    return value is None or ((is_object(value) or is_array(value)) and not value)


def is_hash(text: str) -> bool:
    """
    Whether *text* has the form of a hash; anybody can write a tag.
    """
    return _HASH.fullmatch(text) is not None


class ArgumentHasher:
    """
    Hashes arguments under one key.

    Args:
        key: the secret; hashes of different keys are unknown arguments to each other.
        ignored: top-level argument names that are left out, such as idempotency keys.
    """

    __slots__ = ("_ignored", "_keyed", "key_id")

    def __init__(self, key: bytes, *, ignored: Collection[str] = ()) -> None:
        secret = hashlib.sha256(key).digest()
        self.key_id = hashlib.blake2b(b"toolspan key id", key=secret, digest_size=KEY_ID_CHARS // 2).hexdigest()
        self._keyed: Callable[[], hashlib.blake2b] = hashlib.blake2b(key=secret, digest_size=_DIGEST_BYTES).copy
        self._ignored = frozenset(ignored)

    def hash(self, value: object, *, tool: str = "", call_id: str = "") -> str | None:
        """
        The hash of *value* (4 hex characters of key id, 16 of digest), None where it is no known arguments.

        *tool* and *call_id* are what the span says, so that a wrapper which repeats them is known as one.
        """
        if isinstance(value, str):
            # nearly all arguments are the text of a JSON object that is no wrapper: straight through
            spelled = self.hash_json(value.encode()) if value.isascii() else None
            if spelled is not None:
                return spelled
            arguments = parse(value)
            if arguments.__class__ is dict and arguments and not self._ignored:
                plain = cast("dict[str, object]", arguments)
                if _SUSPECTS.isdisjoint(plain):
                    return self._digest(plain)
            return self._hash(arguments, tool, call_id)
        return self._hash(value, tool, call_id)

    def hash_json(self, text: bytes) -> str | None:
        """
        As `hash`, where *text* is JSON of the common kind, and else None: then `hash` has to look at it.
        """
        if self._ignored or text[:1] != b"{" or (spelled := _spell(text)) is None:
            return None
        digest = self._keyed()
        digest.update(spelled)
        return self.key_id + digest.hexdigest()

    def _hash(self, value: object, tool: str, call_id: str) -> str | None:
        arguments = unwrap(value, tool=tool, call_id=call_id)
        if is_unknown(arguments):
            return None
        if self._ignored and is_object(arguments):
            arguments = {name: item for name, item in arguments.items() if name not in self._ignored}
        return self._digest(arguments)

    def _digest(self, arguments: object) -> str:
        digest = self._keyed()
        digest.update(canonical(arguments))
        return self.key_id + digest.hexdigest()


def canonical(value: object) -> bytes:
    """
    *value* as canonical JSON: keys sorted, no insignificant space, numbers normalised, ASCII.
    """
    try:
        return "".join(_chunks(value, 0)).encode()
    except (TypeError, ValueError, RecursionError):
        # keys of mixed types or values beyond JSON, from a repr or a live span
        return repr(value).encode("utf-8", "backslashreplace")
