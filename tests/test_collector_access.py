"""
Who may talk to the collector: addresses, the rule for public ones, tokens, certificates.
"""

import ssl
from pathlib import Path

import pytest

from toolspan.collector.access import (
    Endpoint,
    Tls,
    bind,
    check_tls,
    check_token,
    is_known,
    parse_endpoint,
    refuse_public,
    uvicorn_tls,
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
        "text",
        ["", "4318", ":4318", "host", "host:", "::1:4318", "host:65536", "a b:1", "http://x:1", "[::1]", "x:\u0664"],
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


class TestListening:
    @pytest.mark.parametrize(
        ("endpoint", "line"),
        [
            (Endpoint("no-such-host.invalid", 0), "is that a name of this machine"),
            (Endpoint("203.0.113.1", 0), "has no such address; 127.0.0.1 is for this machine, 0.0.0.0 for all"),
        ],
    )
    def test_elsewhere_is_one_line(self, endpoint: Endpoint, line: str) -> None:
        """With what would do."""
        with pytest.raises(InputError, match=f"Cannot listen on {endpoint}: .*{line}") as refused:
            bind(endpoint)
        assert "\n" not in str(refused.value)

    def test_on_a_port_that_is_taken_is_one_line(self) -> None:
        """Whoever has it."""
        with bind(Endpoint("127.0.0.1", 0)) as taken:
            place = Endpoint("127.0.0.1", taken.getsockname()[1])
            with pytest.raises(InputError, match=f"Cannot listen on {place}: something else does already; end it, or"):
                bind(place)


class TestToken:
    def test_is_visible_ascii_or_none(self) -> None:
        """It has to fit into a header."""
        assert (None, "s3cret!~") == (check_token(None), check_token("s3cret!~"))
        for text in ("two words", "ümlaut", "new\nline", "\x7f", " "):
            with pytest.raises(InputError, match=r"TOOLSPAN_TOKEN has to be visible ASCII .*; choose another"):
                check_token(text)

    def test_that_is_empty_is_refused(self) -> None:
        """Who sets it means to be protected, and would not be."""
        with pytest.raises(InputError, match="TOOLSPAN_TOKEN is empty; choose another, or unset it"):
            check_token("")

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
    def test_takes_files_that_fit(self) -> None:
        """A pair, with a certificate for clients or without; or nothing."""
        certificate, key, client = (_TLS / name for name in ("localhost.pem", "localhost.key", "client.pem"))

        assert Tls(certificate, key) == check_tls(str(certificate), str(key))
        assert Tls(certificate, key, client) == check_tls(str(certificate), str(key), client_ca=str(client))
        assert None is check_tls(None, None)

    @pytest.mark.parametrize(
        ("certificate", "key", "client", "line"),
        [
            ("localhost.pem", None, None, "TLS takes both --tls-cert and --tls-key; give the other one"),
            (None, "localhost.key", None, "TLS takes both"),
            (None, None, "client.pem", "TLS takes both"),
            (
                "missing.pem",
                "localhost.key",
                None,
                r"Cannot read .*missing.pem \(No such file .*\); check that it is there",
            ),
            ("localhost.pem", ".", None, r"Cannot read .*tls \(Is a directory\)"),
            ("localhost.key", "localhost.pem", None, "Cannot use .* no certificate and unencrypted key in PEM; give a"),
            (
                "localhost.pem",
                "client.key",
                None,
                "Cannot use .* with the key .*: they do not fit each other; give a pair",
            ),
            ("localhost.pem", "encrypted.key", None, "Cannot use .*encrypted.key: no certificate and unencrypted key"),
            ("localhost.pem", "localhost.key", "missing.pem", "Cannot read .*missing.pem"),
            ("localhost.pem", "localhost.key", "client.key", "Cannot use .*client.key: no certificate in PEM"),
        ],
    )
    def test_of_anything_else_is_one_line(
        self, certificate: str | None, key: str | None, client: str | None, line: str
    ) -> None:
        """Which file, and what is wrong with it; nobody is asked for a password."""
        files = [None if name is None else str(_TLS / name) for name in (certificate, key, client)]

        with pytest.raises(InputError, match=line) as refused:
            check_tls(files[0], files[1], client_ca=files[2])
        assert "\n" not in str(refused.value)

    def test_is_nothing_for_uvicorn_where_there_is_none(self) -> None:
        """As it would be without these options."""
        assert {None, ssl.CERT_NONE} == set(uvicorn_tls(None).values())
