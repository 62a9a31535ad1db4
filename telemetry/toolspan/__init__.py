"""
Tags every tool call of an agent with tool, error class and code, and computes three numbers per tool.

What is exported is imported at its first use: the command line needs no OpenTelemetry, a tool no database.
"""

# Where a tracer provider is made before this is imported, every child that the process forks hangs: the import
# registers what runs after a fork, and the SDK's own hook then waits for what a child does not have.
import concurrent.futures.thread  # noqa: F401  # pyright: ignore[reportUnusedImport]  # see above
from importlib import import_module
from typing import TYPE_CHECKING

from toolspan._version import __version__

if TYPE_CHECKING:
    from toolspan.agents.agent import current_task, escalate, resolve, step, task
    from toolspan.agents.guard import Policy
    from toolspan.envelopes.envelope import Failure, Receipt, Success, ToolError, failure, success
    from toolspan.envelopes.prompt import PROMPT
    from toolspan.instrumentation.instrumenting import instrument, uninstrument, wrap
    from toolspan.tools.retry import Retry
    from toolspan.tools.tool import tool
    from toolspan.tools.writes import ABSENT, UNKNOWN, Committed, Write

__all__ = [
    "ABSENT",
    "PROMPT",
    "UNKNOWN",
    "Committed",
    "Failure",
    "Policy",
    "Receipt",
    "Retry",
    "Success",
    "ToolError",
    "Write",
    "__version__",
    "current_task",
    "escalate",
    "failure",
    "instrument",
    "resolve",
    "step",
    "success",
    "task",
    "tool",
    "uninstrument",
    "wrap",
]

_HOMES = {
    "ABSENT": "tools.writes",
    "PROMPT": "envelopes.prompt",
    "UNKNOWN": "tools.writes",
    "Committed": "tools.writes",
    "Failure": "envelopes.envelope",
    "Policy": "agents.guard",
    "Receipt": "envelopes.envelope",
    "Retry": "tools.retry",
    "Success": "envelopes.envelope",
    "ToolError": "envelopes.envelope",
    "Write": "tools.writes",
    "current_task": "agents.agent",
    "escalate": "agents.agent",
    "failure": "envelopes.envelope",
    "instrument": "instrumentation.instrumenting",
    "resolve": "agents.agent",
    "step": "agents.agent",
    "success": "envelopes.envelope",
    "task": "agents.agent",
    "tool": "tools.tool",
    "uninstrument": "instrumentation.instrumenting",
    "wrap": "instrumentation.instrumenting",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolspan' has no attribute {name!r}")
    value: object = getattr(import_module(f"toolspan.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
