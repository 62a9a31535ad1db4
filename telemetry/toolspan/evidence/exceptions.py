"""
What the type of an exception says: a class, or that it is a wrapper, a cancellation, a deferral.

Types come from every language and framework, spelled as each spells them (`httpx.ReadTimeout`, `*url.Error`,
`feign.FeignException$NotFound`, `GRPC::Unavailable`). The full name is looked up first, then its last component:
frameworks move classes between modules and record some names bare. Base classes are not known here, only names.

The families below are data: names of exceptions that real frameworks raise around a tool. They are compared by last
component; none of them is a name that applications give to failures of their own domain (`FlightCancelledError` is a
failure, so nothing is matched by a part of a name).
"""

import re
from functools import lru_cache
from typing import Final

from toolspan.evidence.statuses import Named, name_rule
from toolspan.taxonomy import TABLE

# Raised by a framework around what the tool raised; they say nothing of their own. Comments name who raises them.
_WRAPPERS: Final = frozenset(
    {
        "ToolRetryError",  # pydantic-ai
        "ToolFailedError",
        "ToolFailed",
        "ModelRetry",
        "RetryAgentRun",  # agno
        "StopAgentRun",
        "ToolError",  # fastmcp, mcp
        "UnexpectedToolError",
        "ToolException",  # langchain, autogen, agent-framework
        "ToolInvocationError",  # langgraph, haystack
        "_MCPToolExecutionError",  # langchain-mcp-adapters
        "ToolExecutionException",  # autogen, agent-framework
        "UserError",  # openai-agents
        "ModelBehaviorError",
        "ToolExecutionError",  # google-adk
        "FunctionExecutionException",  # semantic-kernel
        "KernelInvokeException",
        "AgentToolExecutionError",  # smolagents
        "AgentToolCallError",
        "AgentExecutionError",
        "ToolUsageError",  # crewai
        "ToolExecutionFailedError",
        "ToolProviderException",  # strands
        "WorkflowRuntimeError",  # llama-index
        "RetryError",  # tenacity, google.api_core
        "ExecutionException",  # java.util.concurrent
        "CompletionException",
        "InvocationTargetException",
        "TargetInvocationException",  # .NET
        "AggregateException",
    }
)
_MODEL_RETRIES: Final = frozenset({"ToolRetryError", "ModelRetry", "RetryAgentRun"})
_CANCELLATIONS: Final = frozenset(
    {
        "CancelledError",  # asyncio, concurrent.futures
        "Cancelled",  # trio, and anyio on it
        "TaskCancelled",  # anyio
        "FutureCancelled",
        "Canceled",  # Go: context.Canceled
        "CANCELLED",  # gRPC: StatusCode.CANCELLED
        "AbortError",  # JavaScript's AbortSignal
        "APIUserAbortError",  # openai and anthropic for JavaScript
        "CancellationException",  # Java, Kotlin
        "JobCancellationException",
        "OperationCanceledException",  # .NET
        "TaskCanceledException",
        "OperationCancelledException",  # semantic-kernel
        "RunCancelled",  # pydantic-ai
        "RunCancelledException",  # agno
        "NodeCancelledError",  # langgraph
        "MCPToolCancellationError",  # openai-agents
        "WorkflowCancelledByUser",  # llama-index
        "KeyboardInterrupt",
    }
)
_DEFERRALS: Final = frozenset(
    {
        "GraphInterrupt",  # langgraph
        "NodeInterrupt",
        "CallDeferred",  # pydantic-ai
        "ApprovalRequired",
        "WaitingForEvent",  # llama-index
        "InterruptException",  # strands
        "UserInputRequiredException",  # agent-framework
    }
)

#: The longest type name looked at; real ones are below 120 characters.
_MAX_TYPE: Final = 300
#: How much of a cause's message is kept: as much as is read of any text.
_MAX_MESSAGE: Final = 8_192

_DIRECT_CAUSE: Final = "The above exception was the direct cause of the following exception:"
_CONTEXT: Final = "During handling of the above exception, another exception occurred:"
_TRACEBACK: Final = "Traceback (most recent call last)"
# the frames of a Python traceback are indented, the exception below them is not
_EXCEPTION_LINE: Final = re.compile(r"^(?!Traceback )\S", re.MULTILINE)
_TYPED: Final = re.compile(r"([A-Za-z_][\w.$<>`]*)(?:: ?(.*)|\s*\Z)", re.DOTALL)
_TYPED_LINE: Final = re.compile(r"(?:\(Inner Exception #\d+\) )?([A-Za-z_][\w.$`]*)(?:: ?(.*))?")
# Java, .NET and Node print the cause below the exception
_CAUSE_MARKS: Final = ("\nCaused by: ", " ---> ", "[cause]: ")


def _listed() -> dict[str, tuple[Named, bool]]:
    listed: dict[str, tuple[Named, bool]] = {}
    for rule in TABLE.get("exception", ()):
        named = name_rule(rule, f"exception:{rule.value}")
        if named is not None:
            listed.setdefault(rule.value, (named, rule.is_generic))
    return listed


_BY_NAME: Final = _listed()
#: Of names that share their last component the first row decides (they agree in class and code).
_BY_LAST: Final = {name.rpartition(".")[2]: found for name, found in reversed(_BY_NAME.items())}


@lru_cache(maxsize=1024)
def last_component(type_name: str) -> str:
    """
    The class of a qualified type name: `ReadTimeout` of `httpx.ReadTimeout`, `b::ReadTimeout` or `A$ReadTimeout`.
    """
    if type_name.isidentifier():
        return type_name
    last = type_name[-_MAX_TYPE:].rpartition(".")[2]
    if last.isidentifier():
        return last
    # generics (`B`1[[…]]`), `<class 'a.B'>`, C++ and Ruby (`a::B`), inner classes of Java (`A$B`), PHP (`a\\B`), Go
    last = type_name[-_MAX_TYPE:].partition("`")[0].partition("[")[0].rstrip("'\"> ")
    for separator in (".", ":", "$", "\\", "/", "'", " ", "*"):
        last = last.rpartition(separator)[2]
    return last


def name_exception(type_name: str) -> tuple[Named, bool] | None:
    """
    What an exception type names, and whether it is a generic type, which needs a text beside it; None if unlisted.
    """
    return _BY_NAME.get(type_name) or _BY_LAST.get(type_name) or _BY_LAST.get(last_component(type_name))


def is_wrapper(type_name: str) -> bool:
    """
    Whether the type only wraps what happened: its direct cause tells more.
    """
    return last_component(type_name) in _WRAPPERS


def is_model_retry(type_name: str) -> bool:
    """
    Whether a tool raised it to ask the model for other arguments.
    """
    return last_component(type_name) in _MODEL_RETRIES


def is_cancellation(type_name: str) -> bool:
    """
    Whether the type says that the caller gave up.
    """
    return last_component(type_name) in _CANCELLATIONS


def is_deferral(type_name: str) -> bool:
    """
    Whether the type says that the call waits for a human.
    """
    return last_component(type_name) in _DEFERRALS


def cause_of(stacktrace: str) -> tuple[str, str] | None:
    """
    Type and message of the direct cause of the last exception in *stacktrace*; None where it names none.

    An exception during whose handling another occurred is no direct cause. Only substring searches touch the whole
    text, so a huge one costs microseconds.
    """
    end = stacktrace.rfind(_DIRECT_CAUSE)
    if end >= 0:
        if stacktrace.find(_CONTEXT, end) >= 0:
            return None
        return _exception_in(stacktrace[_link_before(stacktrace, end) : end])
    if _TRACEBACK in stacktrace:
        return None
    for mark in _CAUSE_MARKS:
        start = stacktrace.find(mark)
        if start >= 0:
            found = _TYPED_LINE.match(stacktrace, start + len(mark), start + len(mark) + _MAX_MESSAGE)
            return (found[1], found[2] or "") if found else None
    return None


def exception_texts(text: str) -> list[str]:
    """
    The texts of a failure that *text* holds, the most telling first: *text* itself, unless it is a Python traceback.

    Of a traceback: what stands before it (`repr(error)` often does), the last exception, then its direct causes.
    Frames are left out: a line of source code is no evidence. An exception during whose handling the last one
    occurred was handled.
    """
    start = text.find(_TRACEBACK)
    if start < 0:
        return [text]
    first_link = text.find(_DIRECT_CAUSE)
    texts = [text[:start]] if not 0 <= first_link < start else []
    end = len(text)
    while True:
        start = _link_before(text, end)
        texts.append(_below_frames(text[start:end]))
        end = start - len(_DIRECT_CAUSE)
        if end < 0 or not text.startswith(_DIRECT_CAUSE, end):
            return texts


def _link_before(text: str, end: int) -> int:
    direct, context = text.rfind(_DIRECT_CAUSE, 0, end), text.rfind(_CONTEXT, 0, end)
    return max(0, direct + len(_DIRECT_CAUSE) if direct >= 0 else 0, context + len(_CONTEXT) if context >= 0 else 0)


def _below_frames(segment: str) -> str:
    start = segment.rfind(_TRACEBACK)
    frames = segment.find("\n", start) if start >= 0 else 0
    found = _EXCEPTION_LINE.search(segment, max(frames, 0))
    return segment[found.start() :] if found else ""


def _exception_in(segment: str) -> tuple[str, str] | None:
    found = _TYPED.match(_below_frames(segment)[:_MAX_MESSAGE])
    return (found[1], (found[2] or "").strip()) if found else None
