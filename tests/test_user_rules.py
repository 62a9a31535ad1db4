"""
The user's rules win over everything that toolspan knows itself.
"""

import pytest

from tests.judging import ENVELOPE, judge, said
from toolspan.rules import Condition, EvidenceRule, RuleBook
from toolspan.taxonomy import ErrorClass

UNAVAILABLE = ("error", "transient", "UNAVAILABLE")


def rule(condition: Condition, value: str | int, tool: str = "*") -> RuleBook:
    return RuleBook((EvidenceRule(condition, value, ErrorClass.BUSINESS_RULE, tool, "HOUSE_RULE", None, 7),))


class TestRulesOfTheUser:
    @pytest.mark.parametrize(
        ("book", "values", "exception"),
        [
            pytest.param(rule(Condition.HTTP, 503), {"http.response.status_code": 503}, None, id="status attribute"),
            pytest.param(
                rule(Condition.HTTP, 503),
                {},
                ("httpx.HTTPStatusError", "Server error '503 Service Unavailable'", ""),
                id="text",
            ),
            pytest.param(rule(Condition.HTTP, 409), {"error.type": "409"}, None, id="numeric error.type"),
            pytest.param(rule(Condition.GRPC, "ABORTED"), {"rpc.grpc.status_code": "10"}, None, id="gRPC number"),
            pytest.param(rule(Condition.JSONRPC, -32011), {"error.type": "-32011"}, None, id="vendor's JSON-RPC code"),
            pytest.param(rule(Condition.SQLSTATE, "23"), {"db.response.status_code": "23514"}, None, id="SQLSTATE"),
            pytest.param(rule(Condition.ERROR_TYPE, "acme.SlotTaken"), {}, ("acme.SlotTaken", "", ""), id="exception"),
            pytest.param(
                rule(Condition.ERROR_TYPE, "SlotTaken"), {"error.type": "acme.SlotTaken"}, None, id="error.type"
            ),
            pytest.param(rule(Condition.MESSAGE, "slot .* taken"), {}, ("X", "slot 5 is taken", ""), id="message"),
            pytest.param(
                rule(Condition.ERROR_CODE, "SLOT_TAKEN"),
                {"gen_ai.tool.call.result": ENVELOPE},
                None,
                id="envelope's code",
            ),
            pytest.param(
                rule(Condition.ERROR_CODE, "E_42"),
                {"gen_ai.tool.call.result": '{"ok": false, "error": {"code": "E_42"}}'},
                None,
                id="a code without a class",
            ),
            pytest.param(
                rule(Condition.RESULT, "^Error: room"),
                {"gen_ai.tool.call.result": "Error: room not found"},
                None,
                id="result",
            ),
        ],
    )
    def test_win_over_everything(
        self, book: RuleBook, values: dict[str, object], exception: tuple[str, str, str] | None
    ) -> None:
        """A rule matches what the span states as well as what its texts were read as."""
        status = 0 if "result" in str(book.rules[0].condition) else 2

        judged = judge(values, status=status, exception=exception, rules=book)

        assert ("error", "business_rule", "HOUSE_RULE", "rule:7") == (*said(judged), judged.evidence)

    def test_of_other_tools_do_not_match(self) -> None:
        """A rule is for the tools that its pattern covers."""
        judged = judge({"http.response.status_code": 503}, status=2, rules=rule(Condition.HTTP, 503, tool="search_*"))

        assert said(judged) == UNAVAILABLE

    def test_make_no_success_a_failure_unless_they_are_about_results(self) -> None:
        """A rule about messages says what a failure means, not that there is one."""
        book = rule(Condition.MESSAGE, "taken")

        assert judge({"gen_ai.tool.call.result": "slot taken, but all is well"}, rules=book).outcome == "ok"
