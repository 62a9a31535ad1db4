"""
How a span says that its call ended: whether it failed is asked apart from why, and the most believed evidence names.
"""

import pytest

from tests.judging import ENVELOPE, judge, said

WAIT = '{"ok": false, "error": {"code": "BUSY_NOW", "class": "transient", "retryable": true, "retry_after_ms": 1500}}'
OK = '{"ok": true, "data": {}}'


UNAVAILABLE = ("error", "transient", "UNAVAILABLE")
UNKNOWN = ("error", None, None)


class TestOrderOfBelief:
    @pytest.mark.parametrize(
        ("values", "exception", "expected"),
        [
            pytest.param(
                {
                    "toolspan.error.class": "fatal",
                    "toolspan.error.code": "BROKEN_TOOL",
                    "gen_ai.tool.call.result": ENVELOPE,
                },
                None,
                ("error", "fatal", "BROKEN_TOOL"),
                id="a tag before an envelope",
            ),
            pytest.param(
                {"gen_ai.tool.call.result": ENVELOPE, "http.response.status_code": 503},
                None,
                ("error", "business_rule", "SLOT_TAKEN"),
                id="an envelope before a status",
            ),
            pytest.param(
                {"http.response.status_code": 503},
                ("PermissionError", "denied", ""),
                UNAVAILABLE,
                id="a status before an exception",
            ),
            pytest.param(
                {},
                ("httpx.ReadTimeout", "503 Service Unavailable", ""),
                ("error", "transient", "TIMEOUT"),
                id="an exception type before its text",
            ),
            pytest.param({"error.type": "tool_error"}, ("ToolError", "x", ""), UNKNOWN, id="marks that name nothing"),
            pytest.param(
                {"error.type": "_OTHER", "gen_ai.tool.call.result": "503 Service Unavailable"},
                None,
                UNAVAILABLE,
                id="a mark does not end the search",
            ),
        ],
    )
    def test_decides(
        self,
        values: dict[str, object],
        exception: tuple[str, str, str] | None,
        expected: tuple[str, str | None, str | None],
    ) -> None:
        """The first evidence in the order that names a class names it."""
        assert expected == said(judge(values, status=2, exception=exception))


class TestTextsOfFailures:
    @pytest.mark.parametrize(
        "error",
        [
            '{"message": "503 Service Unavailable"}',
            '"503 Service Unavailable"',
            '{"code": "X_Y", "detail": "HTTP 503"}',
        ],
    )
    def test_in_an_envelope_without_a_class_are_read(self, error: str) -> None:
        """`ok: false` says that it failed; its text may say why."""
        judged = judge({"gen_ai.tool.call.result": f'{{"ok": false, "error": {error}}}'})

        assert said(judged) == UNAVAILABLE

    @pytest.mark.parametrize(
        "result",
        [
            '{"status": "5", "x": 1}',
            '{"status": "14"}',
            '{"result": {"status": "7"}}',
            '{"sku": "A", "status": "Unavailable"}',
            '{"status": "UNAVAILABLE", "sku": "A"}',
            '{"status": 409, "type": "order", "id": 3}',
            '{"status": 500, "title": "Dune"}',
        ],
    )
    def test_are_not_made_of_a_tools_own_data(self, result: str) -> None:
        """An object with a `status` is no error document for that."""
        assert said(judge({"gen_ai.tool.call.result": result}, status=2)) == UNKNOWN

    def test_of_a_success_wait_for_a_failed_inner_span(self) -> None:
        """Plain text that would name a class is kept, whatever words stand in it."""
        judged = judge({"gen_ai.tool.call.result": "HTTP 503 Service Unavailable"})

        assert ("ok", "transient", "UNAVAILABLE") == said(judged)


class TestGenericTypes:
    @pytest.mark.parametrize(
        ("kind", "text", "expected"),
        [
            ("ValueError", "409 Conflict", ("error", "business_rule", "CONFLICT")),
            ("ValueError", "date must be in the future", ("error", "validation", "INVALID_ARGUMENT")),
            (
                "TypeError",
                "f() missing 1 required positional argument: 'date'",
                ("error", "validation", "INVALID_ARGUMENT"),
            ),
            ("TypeError", "unsupported operand", ("error", "fatal", "TOOL_BUG")),
            ("TypeError", "", UNKNOWN),
            ("KeyError", "'price'", ("error", "fatal", "TOOL_BUG")),
            ("RuntimeError", "no idea", UNKNOWN),
        ],
    )
    def test_name_a_class_only_beside_a_text(
        self, kind: str, text: str, expected: tuple[str, str | None, str | None]
    ) -> None:
        """ValueError and the like say too little alone, and nothing against a well-known form."""
        assert expected == said(judge(status=2, exception=(kind, text, "")))


CAUSED = (
    "Traceback (most recent call last):\n  File 'x'\n{cause}\n\n"
    "The above exception was the direct cause of the following exception:\n\n"
    "Traceback (most recent call last):\n  File 'y'\n{last}\n"
)


class TestWrappers:
    def test_give_way_to_their_direct_cause(self) -> None:
        """What a framework raises around a failure tells less than the failure."""
        stack = CAUSED.format(cause="httpx.ReadTimeout: slow", last="fastmcp.exceptions.ToolError: it failed")

        judged = judge(status=2, exception=("fastmcp.exceptions.ToolError", "it failed", stack))

        assert said(judged) == ("error", "transient", "TIMEOUT")

    def test_through_wrappers_of_wrappers(self) -> None:
        """A retry exception around a model retry around the cause ends at the cause."""
        inner = CAUSED.format(cause="PermissionError: no", last="pydantic_ai.exceptions.ModelRetry: try again")
        stack = (
            f"{inner}\nThe above exception was the direct cause of the following exception:\n\n"
            "Traceback (most recent call last):\n  File 'z'\npydantic_ai.exceptions.ToolRetryError: try again\n"
        )

        judged = judge(status=2, exception=("pydantic_ai.exceptions.ToolRetryError", "try again", stack))

        assert (judged.error_class, judged.model_retry) == ("permission", False)

    def test_a_model_retry_without_another_cause_is_marked(self) -> None:
        """It is validation, unless an inner span knows better: that is decided where those are seen."""
        stack = "Traceback (most recent call last):\n  File 'z'\npydantic_ai.exceptions.ModelRetry: other slot\n"

        judged = judge(status=2, exception=("pydantic_ai.exceptions.ModelRetry", "other slot", stack))

        assert (judged.outcome, judged.error_class, judged.model_retry) == ("error", None, True)

    def test_a_model_retry_without_a_stack_trace_is_not(self) -> None:
        """With content capture off nobody knows what was behind it."""
        assert not judge(status=2, exception=("pydantic_ai.exceptions.ModelRetry", "", "")).model_retry


class TestOutcome:
    @pytest.mark.parametrize(
        ("values", "status", "exception", "outcome"),
        [
            pytest.param({}, 0, ("TimeoutError", "", ""), "error", id="unset with an exception"),
            pytest.param({}, 1, ("TimeoutError", "", ""), "ok", id="ok over an exception"),
            pytest.param({"gen_ai.tool.call.result": OK}, 0, ("TimeoutError", "", ""), "ok", id="a success says so"),
            pytest.param({"gen_ai.tool.call.result": OK}, 2, None, "error", id="status ERROR beside ok: true"),
            pytest.param({"error.type": "CancelledError"}, 2, None, "cancelled", id="cancelled by type"),
            pytest.param({"rpc.grpc.status_code": 1}, 2, None, "cancelled", id="cancelled by gRPC"),
            pytest.param(
                {}, 2, ("asyncio.exceptions.CancelledError", "", ""), "cancelled", id="cancelled by exception"
            ),
            pytest.param(
                {"pydantic_ai.tool.deferral.name": "CallDeferred"}, 0, None, "deferred", id="deferred by mark"
            ),
            pytest.param({}, 1, ("langgraph.errors.GraphInterrupt", "", ""), "deferred", id="deferred though OK"),
            pytest.param(
                {"gen_ai.tool.call.result": '{"resultType": "input_required"}'}, 0, None, "deferred", id="mcp"
            ),
            pytest.param({"toolspan.call.outcome": "deferred"}, 2, None, "deferred", id="stated deferred"),
            pytest.param({"toolspan.call.outcome": "ok"}, 0, ("TimeoutError", "", ""), "ok", id="stated ok"),
            pytest.param({"toolspan.call.outcome": "error"}, 0, None, "error", id="stated error"),
            pytest.param(
                {"rpc.response.status_code": "OK", "http.response.status_code": 200}, 0, None, "ok", id="fine"
            ),
            pytest.param({"db.response.status_code": "00000"}, 0, None, "ok", id="SQL success"),
            pytest.param({"http.response.status_code": 418}, 0, None, "error", id="a status alone fails"),
            pytest.param(
                {"gen_ai.tool.call.result": '{"isError": true, "ok": true}'}, 0, None, "error", id="isError and ok"
            ),
            pytest.param(
                {"gen_ai.tool.call.result": '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602}}'},
                0,
                None,
                "error",
                id="a JSON-RPC error",
            ),
            pytest.param(
                {"gen_ai.tool.call.result": "This tool call is rejected."}, 0, None, "cancelled", id="a refusal as text"
            ),
        ],
    )
    def test_is_read(
        self, values: dict[str, object], status: int, exception: tuple[str, str, str] | None, outcome: str
    ) -> None:
        """Failure, cancellation, deferral and success each have their evidence."""
        assert outcome == judge(values, status=status, exception=exception).outcome

    def test_a_refusal_by_a_human_is_a_cancellation(self) -> None:
        """The caller did not give up, a human said no."""
        judged = judge({"gen_ai.tool.call.result": '{"error": "This tool call is rejected."}'}, status=2)

        assert ("cancelled", "REJECTED") == (judged.outcome, judged.code)

    def test_a_request_for_confirmation_is_a_deferral(self) -> None:
        """The call waits, it did not fail."""
        result = '{"error": "This tool call requires confirmation, please approve or reject."}'

        assert judge({"gen_ai.tool.call.result": result}).outcome == "deferred"


TAGS: dict[str, object] = {
    "toolspan.tagged": "processor",
    "toolspan.error.class": "transient",
    "toolspan.error.code": "UNAVAILABLE",
    "error.type": "UNAVAILABLE",
}


class TestDerivedTags:
    def test_serve_where_the_evidence_is_gone(self) -> None:
        """An agent that saw the evidence is believed by a collector that does not see it any more."""
        assert said(judge(TAGS, status=2)) == UNAVAILABLE

    def test_give_way_to_evidence_of_the_spans_own(self) -> None:
        """Agent and collector cannot disagree where both see the evidence."""
        own = {**TAGS, "gen_ai.tool.call.result": ENVELOPE}

        assert said(judge(own, status=2)) == ("error", "business_rule", "SLOT_TAKEN")

    def test_give_way_to_a_cancellation(self) -> None:
        """A tag of a class does not turn a cancelled call into a failure."""
        assert judge({**TAGS, "error.type": "CancelledError"}, status=2).outcome == "cancelled"

    def test_code_unclassified_ends_the_search(self) -> None:
        """What the tool itself could not classify counts as unclassified, whatever its text looks like."""
        tags: dict[str, object] = {"toolspan.error.class": "fatal", "toolspan.error.code": "UNCLASSIFIED"}

        assert said(judge(tags, status=2, message="503 Service Unavailable")) == (
            "error",
            "unclassified",
            "UNCLASSIFIED",
        )

    def test_saying_ok_give_way_to_an_error(self) -> None:
        """A derived tag does not turn a failed span into a success."""
        assert judge({"toolspan.tagged": "processor", "toolspan.call.outcome": "ok"}, status=2).outcome == "error"

    def test_a_stated_refusal_keeps_its_code(self) -> None:
        """Cancelled because a human refused is told from cancelled because the caller gave up."""
        stated: dict[str, object] = {"toolspan.call.outcome": "cancelled", "toolspan.error.code": "REJECTED"}

        assert said(judge(stated)) == ("cancelled", None, "REJECTED")


class TestWaits:
    @pytest.mark.parametrize(
        ("values", "wait"),
        [
            ({"gen_ai.tool.call.result": WAIT}, 1500),
            ({"toolspan.error.class": "transient", "toolspan.error.retry_after_ms": 20}, 20),
            ({"http.response.status_code": 429, "http.response.header.retry-after": ["2"]}, 2000),
            ({"http.response.status_code": 429, "http.response.header.retry-after": "soon"}, None),
            ({"http.response.status_code": 429, "http.response.header.retry-after": "-2"}, None),
            ({"http.response.status_code": 409, "http.response.header.retry-after": "2"}, None),
            (
                {
                    "gen_ai.tool.call.result": '{"error": {"status": "UNAVAILABLE", "details": '
                    '[{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}]}}'
                },
                3000,
            ),
        ],
    )
    def test_are_kept_of_transient_failures(self, values: dict[str, object], wait: int | None) -> None:
        """A wait that was asked for is in ms; one that cannot be read, or of another class, is none."""
        assert wait == judge(values, status=2).retry_after_ms


class TestFields:
    @pytest.mark.parametrize(
        ("values", "text", "field"),
        [
            ({"toolspan.error.class": "validation", "toolspan.error.field": "when"}, "", "when"),
            ({}, "2 validation errors for search\ndate\n  Field required [type=missing]\nfare\n  …", "date"),
            ({}, "1 validation error for search\nitems.2.sku\n  Input should be…", "items.2.sku"),
            ({}, "search() missing 2 required positional arguments: 'date' and 'fare'", "date"),
            ({}, "search() got an unexpected keyword argument 'day'", "day"),
            ({}, "1 validation error for search\n  no field here", None),
        ],
    )
    def test_are_read_from_what_validation_prints(
        self, values: dict[str, object], text: str, field: str | None
    ) -> None:
        """The argument at fault is named by the tool, else by Python or pydantic."""
        assert field == judge(values, status=2, message=text).field
