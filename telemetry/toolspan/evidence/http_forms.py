"""
HTTP statuses as clients print them.

No framework puts the status of an upstream call on the tool's span; it survives as text. A number is read as a
status only where its neighbours are those that a client prints: the reason phrase of that very code beside it
(`503 Service Unavailable`), words of the protocol before it (`HTTP 503`, `status code 503`), or the frame of a known
client (`Error code: 503 - …`). "Error 404 pages printed" has none of these and says nothing; nor has "returned 404"
or "error 500", which people write about rows and orders as well.

Every form below was taken from the client that prints it, named beside it. A form is looked for around each number
between 400 and 599, from left to right: the first is nearest to what failed, later ones are quoted answers and hints
("For more information check …").
"""

import re
from typing import Final

from toolspan.evidence.statuses import REASON_PHRASES, Named, name_http, name_http_reason

#: How far before a number its words are looked for; the longest frame has 45 characters.
_BEFORE_CHARS: Final = 64

# not a part of a longer number, word, price, path, percentage; the lookbehind comes second because a search for a
# class of characters is four times as fast as one that begins with a lookbehind
_NUMBER: Final = re.compile(r"[45](?<![\w.,/$#%€£+-].)\d\d(?![\w%]|[.,]\d)")

# between a code and its reason phrase: `404 Not Found`, `404: Not Found`, `(404) Not Found`, `404 (Not Found)`,
# `404 - Not Found`, `404 "Not Found"`, `(404)\nReason: Not Found`, `"status":404,"error":"Not Found"`
_TO_PHRASE: Final = re.compile(r"""[)\]]?(?:\s+Reason: |,\s?"error":\s?"| ?[:,\u2013-]? ?["'(]?)""")
#: Each phrase also as Flask's server writes it (`NOT FOUND`) and as Spring names it (`NOT_FOUND`).
_PHRASES: Final = {
    code: tuple(each for phrase in phrases for each in (phrase, phrase.upper(), phrase.upper().replace(" ", "_")))
    for code, phrases in REASON_PHRASES.items()
}
# `Not Found (404)`, `"error":"Not Found","statusCode":404`
_PHRASE_BEFORE: Final = {
    code: tuple(
        frame.format(phrase)
        for phrase in phrases
        for frame in ("{} (", '"error":"{}","statusCode":', '"error": "{}", "statusCode": ')
    )
    for code, phrases in REASON_PHRASES.items()
}

# frames before the number that no one else prints
_BEFORE: Final = (
    "Client error '",  # httpx
    "Server error '",
    "HTTP status client error (",  # reqwest
    "HTTP status server error (",
    "<HTTPError ",  # repr of urllib's
    "<Response [",  # repr of requests' and httpx' response
    "googleapi: Error ",  # Google's Go clients
    ", last exception: ",  # google.api_core's RetryError
    "('Request failed with status code', ",  # google.resumable_media
    "does not indicate success: ",  # .NET
    "The remote server returned an error: (",
    "The requested URL returned error: ",  # curl, git, Req
    "Server returned HTTP response code: ",  # java.net
    "Unexpected server response: ",  # ws
    "Proxy response (",  # undici
    "Unexpected Response: ",  # qdrant-client
    "GraphQL Error (Code: ",  # graphql-request
    "Response status code was unacceptable: ",  # Alamofire
    "resulted in a `",  # Guzzle
    "HTTP.ExceptionRequest.StatusError(",  # HTTP.jl
    "NotFoundError(",  # elasticsearch, opensearch
    "ConflictError(",
    "RequestError(",
    "TransportError(",
    "BadRequestError(",
    "AuthenticationException(",
    "AuthorizationException(",
    "ApiError(",
)

# frames behind the number that no one else prints
_AFTER: Final = re.compile(
    r" (?:Client|Server) Error(?:: | for |\. \()"  # requests; docker; huggingface_hub
    r"|, message="  # aiohttp; okhttp
    r"|\) when calling the \w"  # boto3, of answers without a body
    r"|\)\s+Reason: "  # clients generated from OpenAPI: kubernetes, influxdb
    r"|\] during \["  # feign
    r"| when requesting http"  # googleapiclient
    r"| (?:GET|HEAD|POST|PUT|PATCH|DELETE) https?://"  # google.api_core
    r"| status code \(no body\)"  # openai and anthropic for JavaScript
)

# `Error code: 503`, `Error code: 503 - {…}`: openai, anthropic, groq and all from the same generator
_ERROR_CODE: Final = ("Error code: ", re.compile(r" - |\s*$", re.MULTILINE))
# `[403]: …`: gspread
_API_ERROR: Final = ("APIError: [", re.compile(r"\]"))
# `Status: 404 (…)`: Azure for .NET
_AZURE: Final = ("Status: ", re.compile(r" \("))
# `too many 503 error responses`: urllib3's Retry
_RETRIES: Final = ("too many ", re.compile(r" error responses\b"))
# `received 404 HTTP response`: prawcore
_RECEIVED: Final = ("received ", re.compile(r" HTTP response\b"))
# `status 404 reading Rooms#get(Long)`: feign before 10.5
_FEIGN: Final = ("status ", re.compile(r" reading \w+#"))
# `(status: 404)`, `(status 404)`
_STATUS: Final = (
    ("(status: ", "(status ", "(status=", "[status:", "[status "),
    re.compile(r"[,;)\]]| request:"),
)
# `status=404 method=GET`: logfmt
_LOGFMT: Final = ((" status=", ",status=", "\nstatus="), re.compile(r"[\s,;)\]]|$"))
# `HTTPException: 404: Item not found`: starlette; without its type it might as well be room 404
_STARLETTE: Final = ("HTTPException: ", re.compile(r": \S"))
_PAIRS: Final = (_ERROR_CODE, _API_ERROR, _AZURE, _RETRIES, _RECEIVED, _FEIGN, _STATUS, _LOGFMT, _STARLETTE)

# what stands at the very beginning of a text, or behind its exception's type: python-gitlab (`404: 404 Project Not
# Found`, `404: {…}`), PyGithub and anthropic for JavaScript (`404 {"message": …}`)
_LEADING: Final = re.compile(r"(\d{3})(?:: (?:\{|\1 )| \{[\"'](?:message|error|type|errors)[\"'])")
_LEADING_AFTER: Final = ("Error: ", "Exception: ", "Exception(")

# words of the protocol before the number
_WORDS: Final = re.compile(
    r"(?:"
    # `HTTP 404`, `HTTP/1.1 404`, `HTTP error! status: 404`, `HTTP response code: 404`, `HTTP error occurred: 404`
    r"\b[Hh][Tt][Tt][Pp][Ss]?(?:/\d(?:\.\d)?)?"
    r"(?:[ _-](?:[Ss]tatus|STATUS|[Ee]rror|ERROR|[Ee]xception|[Rr]esponse|[Cc]ode|CODE|occurred)!?){0,4}"
    r"(?: of| was| is)?[:=]? ?[(\[]?"
    # `status code 404`, `status_code=404`, `StatusCode: 404`, `Response code 404`, `a status code of 404`
    r"|(?:\b|(?<=http)|(?<=Http))(?:[Ss]tatus|STATUS|[Rr]esponse)[ _-]?(?:[Cc]ode|CODE)(?: of| was| is)?[:=]? ?[(\[]?"
    # `responded with status 404`, `returned non-200 status: 404`, `Unexpected status: 404`
    r"|\b(?:responded|returned|failed|replied|answered|rejected|received|got|occurred:|[Uu]nexpected|[Rr]esponse)"
    r"(?: (?:with|a|an|unexpected|invalid|bad|error|non-\w{3})){0,3} [Ss]tatus:? "
    # `cannot GET /x (404)`: superagent
    r"|\bcannot [A-Z]{3,7} \S{1,50} \("
    r")\Z"
)
# a plural behind the number counts things: "HTTP 404 pages"
_COUNTED: Final = re.compile(r" (?!(?:was|is|has|status|access)\b)[a-z]{2,}s\b")

# a reason without its number: azure-core, msrest, RestSharp
_REASON_ALONE: Final = re.compile(
    r"(?:returned an invalid status(?: code)? '|failed with status code )([A-Z][\w '-]{2,40})"
)


def find_http(text: str) -> tuple[int, Named] | None:
    """
    Where the first HTTP status of a failure stands in *text*, and what it names.
    """
    found: tuple[int, Named] | None = None
    for number in _NUMBER.finditer(text):
        start, end = number.span()
        status = int(number[0])
        if _is_status(text, start, end, status):
            named = name_http(status)
            if named is not None:
                found = start, named
                break
    if "returned an invalid status" in text or "failed with status code " in text:
        reason = _REASON_ALONE.search(text)
        named = name_http_reason(reason[1]) if reason else None
        if reason and named and (found is None or reason.start() < found[0]):
            return reason.start(), named
    return found


def _is_status(text: str, start: int, end: int, status: int) -> bool:
    if _has_phrase(text, start, end, status) or _AFTER.match(text, end):
        return True
    before = text[max(0, start - _BEFORE_CHARS) : start]
    if before.endswith(_BEFORE) or any(before.endswith(words) and after.match(text, end) for words, after in _PAIRS):
        return True
    if (not before or before.endswith(_LEADING_AFTER)) and _LEADING.match(text, start):
        return True
    # AWS answers 400 to throttled and denied calls alike; its Java client prints "(Service: …; Status Code: 400; …"
    if status == 400 and "(Service: " in before:
        return False
    return _WORDS.search(before) is not None and not _COUNTED.match(text, end)


def _has_phrase(text: str, start: int, end: int, status: int) -> bool:
    phrases = _PHRASES.get(status)
    if phrases is None:
        return False
    between = _TO_PHRASE.match(text, end)
    at = between.end() if between else end
    if at > end and any(text.startswith(phrase, at) and _ends(text, at + len(phrase)) for phrase in phrases):
        return True
    return text.endswith(_PHRASE_BEFORE[status], max(0, start - _BEFORE_CHARS), start)


def _ends(text: str, at: int) -> bool:
    return at >= len(text) or not (text[at].isalnum() or text[at] == "_")
