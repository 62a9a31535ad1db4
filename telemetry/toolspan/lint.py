"""
What can be wrong with an envelope that a tool returned: a bit each, so that a call keeps them in one number.
"""

from enum import IntFlag


class LintFlag(IntFlag):
    """
    One rule of the envelope that was broken.
    """

    RETRYABLE_CONTRADICTS_CLASS = 1
    FIELD_MISSING = 2
    HINT_TOO_LONG = 4
    HINT_MISSING = 8
    CODE_INVALID = 16
    CLASS_UNKNOWN = 32
    ERROR_BESIDE_OK = 64
    ERROR_MISSING = 128
    RETRY_AFTER_NOT_TRANSIENT = 256
    RETRY_AFTER_INVALID = 512
    FIELD_NOT_VALIDATION = 1024
    STACK_TRACE_IN_HINT = 2048
