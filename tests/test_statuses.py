"""
What protocols state is looked up in the table; values that it does not know name nothing.
"""

import pytest

from toolspan.evidence.statuses import (
    REASON_PHRASES,
    Named,
    name_grpc,
    name_http,
    name_http_reason,
    name_jsonrpc,
    name_oauth,
    name_sqlstate,
)
from toolspan.taxonomy import TABLE, ErrorClass


class TestHttp:
    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            (404, Named("validation", "NOT_FOUND", "http:404")),
            (409, Named("business_rule", "CONFLICT", "http:409")),
            (418, Named("validation", "INVALID_ARGUMENT", "http:418")),
            (503, Named("transient", "UNAVAILABLE", "http:503")),
            (599, Named("transient", "INTERNAL", "http:599")),
        ],
    )
    def test_a_failed_status_names_its_row_or_that_of_its_hundred(self, status: int, expected: Named) -> None:
        """Codes without a row of their own take 4xx or 5xx."""
        assert expected == name_http(status)

    @pytest.mark.parametrize("status", [-1, 0, 200, 302, 399, 600, 999])
    def test_other_numbers_name_nothing(self, status: int) -> None:
        """What is no failed HTTP status says nothing."""
        assert name_http(status) is None

    @pytest.mark.parametrize("reason", ["Not Found", "NotFound", "NOT_FOUND", "not found"])
    def test_a_reason_is_read_however_it_is_spelled(self, reason: str) -> None:
        """Clients print the name of a status in several spellings."""
        assert Named("validation", "NOT_FOUND", "http:404") == name_http_reason(reason)

    @pytest.mark.parametrize("reason", ["", "OK", "Found", "Sold Out", "404", "\x00"])
    def test_other_words_are_no_reason(self, reason: str) -> None:
        """Only names of failed statuses are reasons."""
        assert name_http_reason(reason) is None

    def test_each_phrase_leads_back_to_its_status(self) -> None:
        """No phrase is listed for two statuses."""
        named = {phrase: name_http_reason(phrase) for phrases in REASON_PHRASES.values() for phrase in phrases}

        assert {phrase: name_http(code) for code, phrases in REASON_PHRASES.items() for phrase in phrases} == named


class TestGrpc:
    @pytest.mark.parametrize("value", [14, "14", "UNAVAILABLE", "StatusCode.UNAVAILABLE", "Unavailable"])
    def test_a_status_is_read_as_number_and_as_name(self, value: int | str) -> None:
        """Languages spell gRPC's statuses differently."""
        assert Named("transient", "UNAVAILABLE", "grpc:UNAVAILABLE") == name_grpc(value)

    def test_names_of_two_words_have_humps_in_go(self) -> None:
        """Go prints `DeadlineExceeded`."""
        assert Named("transient", "TIMEOUT", "grpc:DEADLINE_EXCEEDED") == name_grpc("DeadlineExceeded")

    @pytest.mark.parametrize("value", [0, 1, 2, 17, -1, "OK", "CANCELLED", "UNKNOWN", "Unknown", "", "x.y", "14.0"])
    def test_ok_cancelled_and_unknown_name_nothing(self, value: int | str) -> None:
        """They are no failure, no failure, and a failure of no class."""
        assert name_grpc(value) is None


class TestJsonRpc:
    def test_a_listed_code_names_its_row(self) -> None:
        """The protocol's own codes are in the table."""
        assert Named("validation", "INVALID_ARGUMENT", "jsonrpc:-32602") == name_jsonrpc(-32602)

    @pytest.mark.parametrize("code", [-32001, -32011, 0, 32602, 404])
    def test_codes_of_vendors_name_nothing(self, code: int) -> None:
        """What a vendor's code means is the vendor's business."""
        assert name_jsonrpc(code) is None


class TestOAuth:
    def test_a_listed_error_names_its_row(self) -> None:
        """A revoked grant needs a human."""
        assert Named("permission", "REAUTHORIZATION_REQUIRED", "oauth:invalid_grant") == name_oauth("invalid_grant")

    @pytest.mark.parametrize("error", ["", "INVALID_GRANT", "ratelimited"])
    def test_other_words_name_nothing(self, error: str) -> None:
        """Other APIs use the key `error`, too."""
        assert name_oauth(error) is None


class TestSqlState:
    @pytest.mark.parametrize(
        ("state", "code"),
        [
            ("23505", "ALREADY_EXISTS"),
            ("23503", "CONSTRAINT_VIOLATION"),
            ("40P01", "DEADLOCK"),
            ("42501", "PERMISSION_DENIED"),
            ("42P01", "INVALID_ARGUMENT"),
            ("57P03", "UNAVAILABLE"),
            ("57014", "TIMEOUT"),
        ],
    )
    def test_the_longest_prefix_decides(self, state: str, code: str) -> None:
        """A row for one state beats the row of its class."""
        named = name_sqlstate(state)

        assert (code, f"sqlstate:{state}") == (named and named.code, named and named.evidence)

    @pytest.mark.parametrize("state", ["", "23", "2350", "235055", "00000", "XX000", "2350\n", "２３５０５"])  # noqa: RUF001 - full-width digits are the case
    def test_other_states_name_nothing(self, state: str) -> None:
        """Success, unknown classes and what is no state say nothing."""
        assert name_sqlstate(state) is None


def test_no_name_is_of_the_sixth_class() -> None:
    """A row of class `unclassified` names nothing."""
    rows = [rule.value.partition(" ") for rule in TABLE["grpc"] if rule.error_class is ErrorClass.UNCLASSIFIED]

    assert [(None, None)] == [(name_grpc(number), name_grpc(name)) for number, _, name in rows]
