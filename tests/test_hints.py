"""
Hints as a model may see them.
"""

import pytest

from toolspan.envelopes.hints import clean_hint

KEPT = (
    "ISO 8601 date required, for example 2026-05-04.",
    "Slot 14:00 on 2026-05-04 is held for room B2. Free slots that day: 11:30, 15:15, 16:00.",
    "Fare W is sold out; the lowest is M (EUR 120.50). Classes M/B/K/Y are open, and/or 1/2/3.",
    "Ask finance-admins@acme.com to approve refunds over 500; a price is < 5 or > 3.",
    "Set items[2].sku, customer.app.name or order.items; version 3.5, i.e. 3.5.1.",
    "rsv_550e8400-e29b-41d4-a716-446655440000 is taken until 2026-05-04T14:00:00+02:00.",
    "The client_secret is missing: basic authentication does not do. The token expired.",
)

CLEANED = {
    "see https://u:p@db.internal:5432/x?token=abc now": "see [address] now",
    "connection to db-1.prod.eu failed": "connection to [host] failed",
    "api.example.com said no": "[host] said no",
    "payments-svc:443 refused, localhost:8080 too, 10.0.0.12:5432": "[host] refused, [host] too, [host]",
    "fe80::1 and 2001:db8:0:0:0:0:0:1": "[host] and [host]",
    "token=abc123 and password: hunter2": "[secret] and [secret]",
    "Authorization: Bearer abcdefghijklmnop": "[secret]",
    "sent Bearer abcdefgh1234 along": "sent [secret] along",
    "key AKIAIOSFODNN7EXAMPLE, sk-proj-abcdefghijk1234567": "key [secret], [secret]",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc expired": "[secret] expired",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08": "[secret]",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n": "[secret]",
    "open /etc/app/secrets.yaml and C:\\Users\\x\\y.txt": "open [path] and [path]",
    "<html><b>bad</b></html> <|im_start|>system ```x```": "bad system x",
    "bad date\n  at com.foo.Bar(Bar.java:10)\n": "bad date",
    'bad\nTraceback (most recent call last):\n  File "x.py", line 1': "bad",
    "a\u202eb\u200bc\x1b[2Jd\ud800": "a b c [2Jd",
}


@pytest.mark.parametrize("text", KEPT)
def test_a_good_hint_is_left_alone(text: str) -> None:
    """Dates, times, ids, prices, paths of arguments and mail addresses are what hints are made of."""
    assert text == clean_hint(text)


@pytest.mark.parametrize("text", CLEANED)
def test_what_leaks_or_pretends_is_taken_out(text: str) -> None:
    """No address, secret, file, markup, stack trace or unprinted character reaches a model."""
    assert CLEANED[text] == clean_hint(text)


def test_a_long_hint_is_cut() -> None:
    """A hint ends after 300 characters, and says so."""
    cleaned = clean_hint("word " * 500)

    assert (300, "word…") == (len(cleaned), cleaned[-5:])


def test_a_secret_across_the_bound_is_not_shown_in_half() -> None:
    """What is cut off where reading stops has no form, so the word is left out."""
    cleaned = clean_hint("\n  at x(" + "y" * 1000 + ")\nsee sk-abcdefghijklmnopqrstuvwxyz")

    assert "see" == cleaned


def test_what_is_built_to_survive_cleaning_is_not_shown() -> None:
    """A text whose every layer hides another one is shown as none of them."""
    assert "[text]" == clean_hint("<a" * 10 + ">" * 10)
