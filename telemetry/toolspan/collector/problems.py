"""
How the API says no: problem details (RFC 9457).
"""

import json
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

PROBLEM: Final = "application/problem+json"
TITLES: Final[Mapping[int, str]] = {
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    415: "Unsupported Media Type",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def problem(status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """
    The answer that something is wrong; *detail* says what to do.
    """
    document = {"title": TITLES.get(status, "Error"), "status": status, "detail": detail}
    return Response(json.dumps(document), status_code=status, media_type=PROBLEM, headers=dict(headers or {}))
