"""
What a collector and whoever asks it have to agree on.
"""

from typing import Final

#: The header of every answer of a collector; whatever answers without it is something else.
API_HEADER: Final = "Toolspan-Api"
#: Raised when answers become such that who knows only the ones before would misread them.
API_VERSION: Final = "1"
