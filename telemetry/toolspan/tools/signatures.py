"""
What a tool's parameters are: which of them a model gives, and what they were given in one call.

`self` is none of a model's, nor is what a framework puts in by itself, its context say: the same call in another
context is the same call, and what a context holds is nobody's to record. The idempotency key is not a model's to
choose.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Final, get_args, get_origin

#: Types of parameters that frameworks fill in, by last component.
_CONTEXTS: Final = frozenset(
    {
        "RunContext",  # pydantic-ai
        "RunContextWrapper",  # openai-agents
        "ToolContext",  # openai-agents, google-adk
        "Context",  # mcp, fastmcp
        "ToolRuntime",  # langchain
        "RunnableConfig",
        "InjectedToolArg",  # within Annotated
        "InjectedToolCallId",
        "InjectedState",
        "InjectedStore",
    }
)
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Parameters:
    """
    The parameters of *function*, whose parameter *key*, if it has one, takes the idempotency key.
    """

    def __init__(self, function: Callable[..., object], key: str) -> None:
        signature = inspect.signature(function)
        every = signature.parameters
        hidden = {name for name, each in every.items() if name == key or _is_injected(each.annotation)}
        positional = [name for name, each in every.items() if each.kind in _POSITIONAL]
        if positional and positional[0] in ("self", "cls"):
            hidden.add(positional[0])
        #: As the tool is shown: without the key.
        self.shown: Final = signature.replace(
            parameters=[each for name, each in every.items() if name != key], return_annotation=dict[str, object]
        )
        self.takes_key: Final = key in every
        self._key_index: Final = positional.index(key) if key in positional else None
        self._positional: Final = tuple("" if name in hidden else name for name in positional)
        #: What is given where a model leaves it out: with it spelled out the call is the same.
        self._defaults: Final = {
            name: each.default
            for name, each in every.items()
            if name not in hidden and name != key and each.default is not inspect.Parameter.empty
        }
        self._hidden: Final = frozenset(hidden | {key} if key else hidden)
        takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in every.values())
        #: The names that a failure may be about; None where any may.
        self.names: Final = None if takes_any else tuple(name for name in every if name not in self._hidden)

    def given(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """
        The arguments of a call by name, as a model gave them, and the defaults of others.
        """
        names = self._positional
        given = dict(self._defaults)
        if args:
            given.update((name, value) for name, value in zip(names, args, strict=False) if name)
        if len(args) > len(names):
            given["*"] = args[len(names) :]
        given.update(kwargs)
        for name in self._hidden:
            given.pop(name, None)
        return given

    def key_in(self, args: tuple[object, ...], kwargs: Mapping[str, object], key: str) -> object:
        """
        What was given for the idempotency *key*; None where nothing was.
        """
        index = self._key_index
        return args[index] if index is not None and index < len(args) else kwargs.get(key)


def _is_injected(annotation: object) -> bool:
    if isinstance(annotation, str):
        # not evaluated: what it names may not be there yet
        return any(word.rpartition(".")[2] in _CONTEXTS for word in _words(annotation))
    parts = (annotation, *get_args(annotation)[1:]) if hasattr(annotation, "__metadata__") else (annotation,)
    return any(_name(part) in _CONTEXTS for part in parts)


def _words(annotation: str) -> list[str]:
    outer, _, inner = annotation.partition("[")
    return [outer.strip(), *(inner.replace("]", ",").replace("(", ",").split(",") if "Annotated" in outer else ())]


def _name(kind: object) -> str:
    origin = get_origin(kind) or kind
    named = origin if isinstance(origin, type) else type(origin)
    return named.__name__
