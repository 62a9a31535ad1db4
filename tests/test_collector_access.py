"""
Who may talk to the collector: addresses, the rule for public ones, tokens, certificates.
"""

from pathlib import Path

import pytest

from toolspan.collector.access import (
    Endpoint,
    bind,
    check_tls,
    check_token,
    is_known,
    parse_endpoint,
    refuse_public,
)
from toolspan.errors import InputError

_TLS = Path(__file__).parent / "data" / "tls"


class TestEndpoint:
    @pytest.mark.parametrize(
        ("text", "endpoint"),
        [
            ("127.0.0.1:4318", Endpoint("127.0.0.1", 4318)),
            ("localhost:0", Endpoint("localhost", 0)),
            ("[::1]:4318", Endpoint("::1", 4318)),
            ("collector.example:65535", Endpoint("collector.example", 65_535)),
            ("off", None),
        ],
    )
    def test_is_a_host_and_a_port(self, text: str, endpoint: Endpoint | None) -> None:
        """Printed as it was written."""
        assert endpoint == parse_endpoint(text, option="--http")
        assert endpoint is None or text == str(endpoint)

    @pytest.mark.parametrize(
        "text", ["", "4318", ":4318", "host", "host:", "::1:4318", "host:65536", "a b:1", "http://x:1"]
    )
    def test_of_anything_else_is_refused(self, text: str) -> None:
        """With how it is written."""
        with pytest.raises(InputError, match="write --http HOST:PORT"):
            parse_endpoint(text, option="--http")

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
    def test_on_this_machine_needs_no_token(self, host: str) -> None:
        """Nobody else reaches it."""
        refuse_public([Endpoint(host, 1)], token=None, is_insecure=False)

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "collector.example"])  # noqa: S104 - to be refused
    def test_that_others_reach_takes_a_token_or_a_word(self, host: str) -> None:
        """Or the network is trusted."""
        place = [Endpoint("127.0.0.1", 1), Endpoint(host, 1)]

        with pytest.raises(InputError, match="set TOOLSPAN_TOKEN to a secret"):
            refuse_public(place, token=None, is_insecure=False)
        refuse_public(place, token="secret", is_insecure=False)  # noqa: S106 - of a test
        refuse_public(place, token=None, is_insecure=True)

    def test_that_does_not_exist_is_one_line(self) -> None:
        """A name that nobody knows."""
        with pytest.raises(InputError, match="is that a name of this machine"):
            bind(Endpoint("no-such-host.invalid", 0))


class TestToken:
    def test_is_visible_ascii_or_none(self) -> None:
        """An empty variable is no token, and no way in."""
        assert (None, None, "s3cret") == (check_token(None), check_token(""), check_token("s3cret"))
        for text in ("two words", "ümlaut", "new\nline"):
            with pytest.raises(InputError, match="TOOLSPAN_TOKEN has to be visible ASCII"):
                check_token(text)

    @pytest.mark.parametrize(
        ("header", "is_right"),
        [
            ("Bearer s3cret", True),
            ("bearer  s3cret ", True),
            ("Bearer s3cre", False),
            ("Bearer ", False),
            ("Basic s3cret", False),
            ("s3cret", False),
            ("Bearer s3cr\u00e9t", False),
            (None, False),
        ],
    )
    def test_is_in_the_header(self, header: str | None, is_right: bool) -> None:
        """As a bearer token."""
        assert is_right == is_known(header, "s3cret")


class TestTls:
    def test_takes_a_pair(self) -> None:
        """Or nothing."""
        certificate, key = str(_TLS / "localhost.pem"), str(_TLS / "localhost.key")

        assert (_TLS / "localhost.pem", _TLS / "localhost.key") == check_tls(certificate, key)
        assert None is check_tls(None, None)

    @pytest.mark.parametrize(
        ("certificate", "key", "line"),
        [
            ("localhost.pem", None, "TLS takes both"),
            (None, "localhost.key", "TLS takes both"),
            ("missing.pem", "localhost.key", "Cannot read .*missing.pem"),
            ("localhost.key", "localhost.pem", "Cannot use .* give a pair in PEM"),
        ],
    )
    def test_of_anything_else_is_one_line(self, certificate: str | None, key: str | None, line: str) -> None:
        """Which file, and what is wrong with it."""
        with pytest.raises(InputError, match=line):
            check_tls(*(None if name is None else str(_TLS / name) for name in (certificate, key)))
