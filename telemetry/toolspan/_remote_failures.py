"""
What went wrong on the way to a collector, in one line that says what to do.
"""

import ssl
from collections.abc import Iterator
from typing import Final

import requests
from urllib3.exceptions import HTTPError, NewConnectionError, ReadTimeoutError

_WRONG_SCHEME: Final = "WRONG_VERSION_NUMBER"


def failure_line(error: requests.RequestException, url: str, *, timeout_s: float) -> str:
    """
    What *error* says of the collector at *url*, which had *timeout_s* to answer.
    """
    causes = list(_causes(error))
    if isinstance(error, requests.exceptions.SSLError):
        return _tls_line(causes, url)
    if isinstance(error, requests.ConnectTimeout) or any(isinstance(each, NewConnectionError) for each in causes):
        return f"Nothing answers at {url}; is toolspan collect running, and is that its --http address?"
    if any(isinstance(each, requests.Timeout | ReadTimeoutError) for each in causes):
        return f"{url} did not answer within {timeout_s:g} s; is it overloaded?"
    other = "http" if url.lower().startswith("https") else "https"
    return (
        f"{url} hangs up without an answer: it was stopped, or is not the --http address of a collector, or wants"
        f" {other}://."
    )


def _tls_line(causes: list[BaseException], url: str) -> str:
    reasons = [each for each in causes if isinstance(each, ssl.SSLError)]
    if any(each.reason == _WRONG_SCHEME for each in reasons):
        return f"{url} speaks no TLS; write http://."
    reason = next((each.verify_message for each in reasons if isinstance(each, ssl.SSLCertVerificationError)), "")
    if reason:
        return (
            f"The certificate of {url} is not trusted ({reason}); name that of who issued it in REQUESTS_CA_BUNDLE,"
            " and ask by a name that it is for."
        )
    return f"No TLS with {url}: {next((each.reason for each in reasons), 'unknown reason')}."


def _causes(error: BaseException) -> Iterator[BaseException]:
    """
    *error* and what it was made of: the libraries below wrap each other's errors as arguments, reasons and causes.
    """
    waiting: list[BaseException] = [error]
    seen = set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        reason: object = getattr(each, "reason", None) if isinstance(each, HTTPError) else None
        made_of: tuple[object, ...] = (*each.args, reason, each.__cause__, each.__context__)
        waiting += [more for more in made_of if isinstance(more, BaseException)]
