"""
Faults on purpose: every class and code, timeouts before and after the work is done, envelopes that lie.

At a tool's boundary by `inject()`, below its HTTP client by `httpx_transport()` and `requests_adapter()`, in pytest by
the fixture `toolspan_faults`.
"""

from toolspan.faults.faults import (
    Fault,
    answering,
    cancellation,
    disconnect,
    every_class,
    every_code,
    failing,
    http_failure,
    raising,
    slow,
    timeout,
    timeout_after_commit,
)
from toolspan.faults.injection import Injected, Injection, Plan, inject
from toolspan.faults.lies import (
    every_lie,
    every_malformation,
    instruction_in_hint,
    ok_with_error,
    retryable_contradiction,
    unretryable_transient,
)
from toolspan.faults.plans import always, flaky, times
from toolspan.faults.responses import (
    Break,
    HttpFault,
    http_garbage,
    http_refusal,
    http_reset,
    http_slow,
    http_status,
    http_timeout,
    http_timeout_after_commit,
)
from toolspan.faults.transports import httpx_transport, requests_adapter

__all__ = [
    "Break",
    "Fault",
    "HttpFault",
    "Injected",
    "Injection",
    "Plan",
    "always",
    "answering",
    "cancellation",
    "disconnect",
    "every_class",
    "every_code",
    "every_lie",
    "every_malformation",
    "failing",
    "flaky",
    "http_failure",
    "http_garbage",
    "http_refusal",
    "http_reset",
    "http_slow",
    "http_status",
    "http_timeout",
    "http_timeout_after_commit",
    "httpx_transport",
    "inject",
    "instruction_in_hint",
    "ok_with_error",
    "raising",
    "requests_adapter",
    "retryable_contradiction",
    "slow",
    "timeout",
    "timeout_after_commit",
    "times",
    "unretryable_transient",
]
