"""
The user's rules: which calls each condition covers, and what a hit says.
"""

import pytest

from toolspan.errors import ConfigError
from toolspan.evidence.statuses import Named
from toolspan.rules import (
    MAX_SEARCHED_CHARS,
    Condition,
    EvidenceRule,
    FailureEvidence,
    RuleBook,
    RuleHit,
)
from toolspan.taxonomy import ErrorClass


def rule(condition: Condition, value: str | int, *, tool: str = "*", code: str | None = "HIT") -> EvidenceRule:
    """
    A rule on line 1 that means `business_rule`.
    """
    return EvidenceRule(condition, value, ErrorClass.BUSINESS_RULE, tool, code, None, 1)


def matches(condition: Condition, value: str | int, evidence: FailureEvidence, *, tool: str = "*") -> bool:
    """
    Whether such a rule covers a failure of `book_slot` with *evidence*.
    """
    return RuleBook((rule(condition, value, tool=tool),)).match_failure("book_slot", evidence) is not None


class TestConditions:
    """
    Each condition holds for its evidence, and for no other.
    """

    @pytest.mark.parametrize(
        ("condition", "value", "evidence"),
        [
            (Condition.HTTP, 409, FailureEvidence(http=409)),
            (Condition.GRPC, "ABORTED", FailureEvidence(grpc="ABORTED")),
            (Condition.GRPC, "ABORTED", FailureEvidence(grpc="10")),
            (Condition.GRPC, 10, FailureEvidence(grpc="StatusCode.ABORTED")),
            (Condition.GRPC, "DEADLINE_EXCEEDED", FailureEvidence(grpc="DeadlineExceeded")),
            (Condition.JSONRPC, -32011, FailureEvidence(jsonrpc=-32011)),
            (Condition.SQLSTATE, "23", FailureEvidence(sqlstate="23505")),
            (Condition.SQLSTATE, "23505", FailureEvidence(sqlstate="23505")),
            (Condition.ERROR_TYPE, "acme.SlotTaken", FailureEvidence(error_types=("x.Wrapper", "acme.SlotTaken"))),
            (Condition.ERROR_TYPE, "SlotTaken", FailureEvidence(error_types=("acme.SlotTaken",))),
            (Condition.ERROR_TYPE, "SlotTaken", FailureEvidence(error_types=("SlotTaken",))),
            (Condition.ERROR_CODE, "SLOT_TAKEN", FailureEvidence(code="SLOT_TAKEN")),
            (Condition.ERROR_CODE, "slot-taken", FailureEvidence(code="SLOT_TAKEN")),
            (Condition.MESSAGE, "slot (is )?taken", FailureEvidence(texts=("first", "the slot is taken"))),
            (Condition.RESULT, "^sold out", FailureEvidence(texts=("sold out",))),
        ],
    )
    def test_condition_holds(self, condition: Condition, value: str | int, evidence: FailureEvidence) -> None:
        """
        Evidence in any of its spellings is covered.
        """
        assert matches(condition, value, evidence)

    @pytest.mark.parametrize(
        ("condition", "value", "evidence"),
        [
            (Condition.HTTP, 409, FailureEvidence(http=410, jsonrpc=409)),
            (Condition.GRPC, "ABORTED", FailureEvidence(grpc="11")),
            (Condition.GRPC, "ABORTED", FailureEvidence(grpc="nonsense")),
            (Condition.JSONRPC, -32011, FailureEvidence(jsonrpc=-32012)),
            (Condition.SQLSTATE, "23", FailureEvidence(sqlstate="42323")),
            (Condition.ERROR_TYPE, "acme.SlotTaken", FailureEvidence(error_types=("other.SlotTaken", "SlotTaken"))),
            (Condition.ERROR_TYPE, "Slot", FailureEvidence(error_types=("acme.SlotTaken",))),
            (Condition.ERROR_CODE, "SLOT_TAKEN", FailureEvidence(code="SLOT", texts=("SLOT_TAKEN",))),
            (Condition.MESSAGE, "slot taken", FailureEvidence(texts=("Slot Taken",), code="slot taken")),
        ],
    )
    def test_condition_does_not_hold(self, condition: Condition, value: str | int, evidence: FailureEvidence) -> None:
        """
        Other evidence is not.
        """
        assert not matches(condition, value, evidence)

    @pytest.mark.parametrize("condition", Condition)
    def test_no_evidence_matches_nothing(self, condition: Condition) -> None:
        """
        A failure without evidence is covered by no rule.
        """
        value = 409 if condition in (Condition.HTTP, Condition.JSONRPC) else "ABORTED"

        assert not matches(condition, value, FailureEvidence())

    @pytest.mark.parametrize(
        ("tool", "expected"),
        [("*", True), ("book_*", True), ("book_slot", True), ("BOOK_*", False), ("book", False), ("[!b]*", False)],
    )
    def test_tool_is_a_glob(self, tool: str, expected: bool) -> None:
        """
        A rule is for the tools that its glob matches, capitals told apart.
        """
        assert expected == matches(Condition.HTTP, 409, FailureEvidence(http=409), tool=tool)

    def test_text_is_searched_to_a_bound(self) -> None:
        """
        Only the beginning of a long text is searched.
        """
        within = "." * (MAX_SEARCHED_CHARS - 5) + "taken"

        assert matches(Condition.MESSAGE, "taken", FailureEvidence(texts=(within,)))
        assert not matches(Condition.MESSAGE, "taken", FailureEvidence(texts=("." + within,)))

    @pytest.mark.parametrize("pattern", ["(", "a{1}{2}", "(?P<x>", "a{99999999999}", "(" * 5000])
    def test_bad_pattern_is_refused(self, pattern: str) -> None:
        """
        A rule book with a pattern that is none cannot be made.
        """
        with pytest.raises(ConfigError, match="is no regular expression"):
            RuleBook((rule(Condition.MESSAGE, pattern),))


class TestBook:
    """
    Rules together.
    """

    def test_first_match_wins(self) -> None:
        """
        The order in the file decides.
        """
        book = RuleBook(
            (
                rule(Condition.HTTP, 409, tool="other", code="OTHER"),
                rule(Condition.MESSAGE, "taken", code="FIRST"),
                rule(Condition.HTTP, 409, code="SECOND"),
            )
        )
        hit = book.match_failure("book_slot", FailureEvidence(http=409, texts=("taken",)))

        assert hit is not None
        assert hit.code == "FIRST"

    def test_only_result_rules_make_failures(self) -> None:
        """
        A text that nothing else calls a failure is one only for a rule that says so.
        """
        book = RuleBook((rule(Condition.MESSAGE, "sold out"), rule(Condition.RESULT, "^sold out", code="SOLD_OUT")))
        hit = book.match_result("book_slot", "sold out today")

        assert RuleHit(ErrorClass.BUSINESS_RULE, "SOLD_OUT", None, 1) == hit
        assert book.match_result("book_slot", "not sold out") is None

    @pytest.mark.parametrize(
        ("rules", "expected"),
        [
            ((), (True, False)),
            ((rule(Condition.HTTP, 409),), (False, False)),
            ((rule(Condition.HTTP, 409), rule(Condition.RESULT, "x")), (False, True)),
        ],
    )
    def test_book_says_what_it_holds(self, rules: tuple[EvidenceRule, ...], expected: tuple[bool, bool]) -> None:
        """
        A reader can skip what no rule asks for.
        """
        book = RuleBook(rules)

        assert expected == (book.is_empty, book.has_result_rules)

    def test_books_of_equal_rules_are_equal(self) -> None:
        """
        A book is its rules, whatever it has been asked.
        """
        asked, fresh = RuleBook((rule(Condition.HTTP, 409),)), RuleBook((rule(Condition.HTTP, 409),))
        asked.match_failure("book_slot", FailureEvidence(http=409))

        assert fresh == asked

    def test_any_number_of_tools_can_be_asked_for(self) -> None:
        """
        Tool names are anybody's: remembering them is bounded, and changes no answer.
        """
        book = RuleBook((rule(Condition.HTTP, 409, tool="tool_1*"),))
        hits = [book.match_failure(f"tool_{number}", FailureEvidence(http=409)) for number in range(3000)]

        assert sum(str(number).startswith("1") for number in range(3000)) == sum(hit is not None for hit in hits)


class TestHit:
    """
    What a hit says.
    """

    @pytest.mark.parametrize(
        ("condition", "value", "evidence", "code"),
        [
            (Condition.HTTP, 409, FailureEvidence(http=409), "CONFLICT"),
            (Condition.HTTP, 299, FailureEvidence(http=299, code="OWN"), "OWN"),
            (Condition.GRPC, "ABORTED", FailureEvidence(grpc="10"), "ABORTED"),
            (Condition.JSONRPC, -32602, FailureEvidence(jsonrpc=-32602), "INVALID_ARGUMENT"),
            (Condition.SQLSTATE, "23505", FailureEvidence(sqlstate="23505"), "ALREADY_EXISTS"),
            (Condition.ERROR_TYPE, "httpx.ReadTimeout", FailureEvidence(error_types=("httpx.ReadTimeout",)), "TIMEOUT"),
            (Condition.ERROR_TYPE, "Unlisted", FailureEvidence(error_types=("Unlisted",)), "BUSINESS_RULE"),
            (Condition.ERROR_CODE, "slot-taken", FailureEvidence(code="SLOT_TAKEN"), "SLOT_TAKEN"),
            (Condition.MESSAGE, "taken", FailureEvidence(texts=("taken",), code="OWN"), "OWN"),
            (Condition.MESSAGE, "taken", FailureEvidence(texts=("taken",)), "BUSINESS_RULE"),
        ],
    )
    def test_code_has_a_default(
        self, condition: Condition, value: str | int, evidence: FailureEvidence, code: str
    ) -> None:
        """
        A rule without code gives the table's, else the error's own, else the class in capitals.
        """
        hit = RuleBook((rule(condition, value, code=None),)).match_failure("book_slot", evidence)

        assert RuleHit(ErrorClass.BUSINESS_RULE, code, None, 1) == hit

    def test_hit_names_like_any_evidence(self) -> None:
        """
        A hit names class and code, and its rule's line as the evidence.
        """
        hit = RuleHit(ErrorClass.VALIDATION, "BAD_DATE", "date", 7)

        assert Named("validation", "BAD_DATE", "rule:7") == hit.named
