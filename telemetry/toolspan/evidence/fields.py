"""
The argument that a validation failure names in its text, where no envelope names it.

Only the forms that Python and pydantic print; a name is kept, never the value that was refused.
"""

import re
from typing import Final

from toolspan.evidence.error_documents import MAX_FIELD_CHARS

_FORMS: Final = (
    # pydantic: "1 validation error for search_flights\\ndate\\n  Field required […]"
    re.compile(r"\d+ validation errors? for [^\n]{0,200}\n([A-Za-z_][\w.\[\]-]*)\n"),
    # Python's own: "f() missing 1 required positional argument: 'date'", "… unexpected keyword argument 'day'"
    re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: '(\w+)'"),
    re.compile(r"got an unexpected keyword argument '(\w+)'"),
)


def field_in_text(text: str) -> str | None:
    """
    The first argument that *text* names as the one at fault.
    """
    for form in _FORMS:
        match = form.search(text)
        if match is not None:
            return match[1][:MAX_FIELD_CHARS]
    return None
