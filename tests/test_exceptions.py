"""
Exception types of all languages are looked up by full name, then by last component; families are known by name.
"""

import pytest

from toolspan.evidence.exceptions import (
    cause_of,
    exception_texts,
    is_cancellation,
    is_deferral,
    is_model_retry,
    is_wrapper,
    last_component,
    name_exception,
)
from toolspan.evidence.statuses import Named
from toolspan.taxonomy import TABLE, Rule

TRACE = """Traceback (most recent call last):
  File "/app/rooms.py", line 404, in book
    raise_for("503 Service Unavailable")
    ^^^^^^^^^
"""
DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"
CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


class TestNames:
    @pytest.mark.parametrize("rule", TABLE["exception"], ids=[rule.value for rule in TABLE["exception"]])
    def test_each_row_is_found_by_full_name(self, rule: Rule) -> None:
        """What the table lists is known."""
        named = Named(rule.error_class, rule.code, f"exception:{rule.value}")

        assert (named, rule.is_generic) == name_exception(rule.value)

    def test_rows_with_one_last_component_agree(self) -> None:
        """So it does not matter which of them a bare name means."""
        rows = {(rule.value.rpartition(".")[2], rule.error_class, rule.code) for rule in TABLE["exception"]}

        assert len({last for last, _, _ in rows}) == len(rows)

    @pytest.mark.parametrize(
        ("type_name", "last"),
        [
            ("TimeoutError", "TimeoutError"),
            ("builtins.TimeoutError", "TimeoutError"),
            ("a::b::TimeoutError", "TimeoutError"),
            ("pkg.Outer$TimeoutError", "TimeoutError"),
            ("*url.Error", "Error"),
            ("*TimeoutError", "TimeoutError"),
            ("app.<locals>.TimeoutError", "TimeoutError"),
            ("<class 'TimeoutError'>", "TimeoutError"),
            ("<class 'app.errors.TimeoutError'>", "TimeoutError"),
            ("App\\Errors\\TimeoutError", "TimeoutError"),
            ("System.Foo`1[[System.String, mscorlib]]", "Foo"),
            ("class java.net.ConnectException", "ConnectException"),
            ("", ""),
            ("...", ""),
            ("\ud800.\x00", "\x00"),
        ],
    )
    def test_the_last_component_is_found_in_every_spelling(self, type_name: str, last: str) -> None:
        """Each language qualifies in its own way."""
        assert last == last_component(type_name)

    @pytest.mark.parametrize(
        "type_name", ["MyTimeoutError", "RuntimeError", "Exception", "x.Timeouts", "timeouterror", ""]
    )
    def test_other_types_name_nothing(self, type_name: str) -> None:
        """A part of a name is no name."""
        assert name_exception(type_name) is None


class TestFamilies:
    @pytest.mark.parametrize(
        "type_name",
        [
            *("pydantic_ai.exceptions.ToolRetryError", "pydantic_ai.exceptions.ToolFailedError", "ModelRetry"),
            *("fastmcp.exceptions.ToolError", "mcp.server.mcpserver.exceptions.UnexpectedToolError"),
            *("langchain_core.tools.base.ToolException", "langgraph.prebuilt.tool_node.ToolInvocationError"),
            *("agents.exceptions.UserError", "haystack.tools.errors.ToolInvocationError", "tenacity.RetryError"),
            *("google.adk.errors.tool_execution_error.ToolExecutionError", "ToolExecutionException"),
            *("semantic_kernel.exceptions.function_exceptions.FunctionExecutionException", "AgentToolExecutionError"),
        ],
    )
    def test_wrappers_of_the_frameworks_are_known(self, type_name: str) -> None:
        """A wrapper gives way to its cause."""
        assert is_wrapper(type_name)

    @pytest.mark.parametrize("type_name", ["RuntimeError", "httpx.ReadTimeout", "MyToolError", "", "tool_error"])
    def test_other_types_are_no_wrappers(self, type_name: str) -> None:
        """What the tool itself raised stays."""
        assert not is_wrapper(type_name)

    def test_no_wrapper_is_in_the_table(self) -> None:
        """A type cannot both name a class and give way."""
        assert [] == [rule.value for rule in TABLE["exception"] if is_wrapper(rule.value)]

    @pytest.mark.parametrize(
        ("type_name", "expected"),
        [("pydantic_ai.exceptions.ToolRetryError", True), ("ModelRetry", True), ("ToolFailedError", False)],
    )
    def test_a_model_retry_asks_for_other_arguments(self, type_name: str, *, expected: bool) -> None:
        """Only types made for that purpose do."""
        assert expected == is_model_retry(type_name)

    @pytest.mark.parametrize(
        "type_name",
        [
            *("asyncio.exceptions.CancelledError", "concurrent.futures._base.CancelledError", "CancelledError"),
            *("trio.Cancelled", "context.Canceled", "System.OperationCanceledException", "AbortError"),
            *("java.util.concurrent.CancellationException", "StatusCode.CANCELLED"),
        ],
    )
    def test_cancellations_of_the_languages_are_known(self, type_name: str) -> None:
        """The caller gave up; the tool did not fail."""
        assert is_cancellation(type_name)

    @pytest.mark.parametrize("type_name", ["FlightCancelledError", "OrderCanceled", "TimeoutError", ""])
    def test_a_cancelled_flight_is_no_cancellation(self, type_name: str) -> None:
        """Applications name failures of their domain so."""
        assert not is_cancellation(type_name)

    @pytest.mark.parametrize(
        ("type_name", "expected"),
        [
            *(("langgraph.errors.GraphInterrupt", True), ("NodeInterrupt", True), ("WaitingForEvent", True)),
            *(("pydantic_ai.exceptions.CallDeferred", True), ("ApprovalRequired", True), ("InterruptedError", False)),
        ],
    )
    def test_deferrals_wait_for_a_human(self, type_name: str, *, expected: bool) -> None:
        """They are no failures."""
        assert expected == is_deferral(type_name)


class TestCause:
    def test_the_direct_cause_of_the_last_exception_is_found(self) -> None:
        """`raise ToolError(…) from error` names what happened."""
        trace = f"{TRACE}httpx.ReadTimeout: timed out\n{DIRECT}{TRACE}fastmcp.exceptions.ToolError: try later\n"

        assert ("httpx.ReadTimeout", "timed out") == cause_of(trace)

    def test_of_a_chain_the_nearest_cause_counts(self) -> None:
        """The cause of the cause is found by asking again."""
        inner = f"RuntimeError: pool\n{DIRECT}{TRACE}pydantic_ai.exceptions.ModelRetry: pool"
        trace = f"{inner}\n{DIRECT}{TRACE}pydantic_ai.exceptions.ToolRetryError: pool\n"

        assert [("pydantic_ai.exceptions.ModelRetry", "pool"), ("RuntimeError", "pool")] == [
            cause_of(trace),
            cause_of(inner),
        ]

    def test_a_message_of_several_lines_is_kept(self) -> None:
        """pydantic's messages go on below the type."""
        trace = (
            f"{TRACE}a.ValidationError: 1 validation error for X\nfare\n  Field required\n{DIRECT}{TRACE}ToolError: no"
        )

        assert ("a.ValidationError", "1 validation error for X\nfare\n  Field required") == cause_of(trace)

    def test_a_handled_exception_is_no_cause(self) -> None:
        """What was handled before is context, whatever caused it."""
        handled = f"{TRACE}KeyError: 'x'\n{CONTEXT}{TRACE}ToolError: no\n"
        caused = f"{TRACE}TimeoutError\n{DIRECT}{handled}"

        assert [None, None] == [cause_of(handled), cause_of(caused)]

    def test_context_above_the_cause_does_not_hide_it(self) -> None:
        """Only the last link counts."""
        trace = f"{TRACE}KeyError: 'x'\n{CONTEXT}{TRACE}TimeoutError\n{DIRECT}{TRACE}ToolError: no\n"

        assert ("TimeoutError", "") == cause_of(trace)

    @pytest.mark.parametrize(
        ("trace", "expected"),
        [
            pytest.param(
                "x.E: no\n\tat x.Y(Y.java:4)\nCaused by: java.net.SocketTimeoutException: Read timed out\n\t... 8 more",
                ("java.net.SocketTimeoutException", "Read timed out"),
                id="java",
            ),
            pytest.param(
                "System.Exception: no\n ---> System.TimeoutException: late\n   at X.Y()",
                ("System.TimeoutException", "late"),
                id=".net",
            ),
            pytest.param(
                "System.AggregateException: no\n ---> (Inner Exception #0) System.TimeoutException: late",
                ("System.TimeoutException", "late"),
                id=".net aggregate",
            ),
            pytest.param(
                "TypeError: fetch failed\n    at x.js:1:1 {\n  [cause]: Error: connect ECONNREFUSED 127.0.0.1:1",
                ("Error", "connect ECONNREFUSED 127.0.0.1:1"),
                id="node",
            ),
        ],
    )
    def test_causes_of_other_languages_stand_below(self, trace: str, expected: tuple[str, str]) -> None:
        """Java, .NET and Node print the cause last."""
        assert expected == cause_of(trace)

    @pytest.mark.parametrize("trace", ["", "x", TRACE, f"{TRACE}ToolError: no", DIRECT, f"{DIRECT}x", "\nCaused by: ?"])
    def test_without_a_cause_there_is_none(self, trace: str) -> None:
        """A trace need not name one."""
        assert cause_of(trace) is None


class TestTexts:
    def test_a_plain_text_is_one(self) -> None:
        """Most texts are no traces."""
        assert ["HTTP 503"] == exception_texts("HTTP 503")

    def test_the_last_exception_comes_before_its_causes(self) -> None:
        """Frames and handled exceptions are left out, what stands before the trace comes first."""
        trace = f"repr{TRACE}KeyError: 'x'\n{CONTEXT}{TRACE}TimeoutError: late\n{DIRECT}{TRACE}ToolError: no\n"

        assert ["repr", "ToolError: no", "TimeoutError: late"] == [text.strip() for text in exception_texts(trace)]

    def test_a_cause_without_frames_is_a_cause(self) -> None:
        """An exception that was never raised has no traceback."""
        trace = f"TimeoutError: late\n{DIRECT}{TRACE}ToolError: no\n"

        assert ["ToolError: no", "TimeoutError: late"] == [text.strip() for text in exception_texts(trace)]
