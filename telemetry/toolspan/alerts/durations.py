"""
Times and numbers as Prometheus writes them.
"""

from typing import Final

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60))


def duration(seconds: int) -> str:
    """
    *seconds* in the largest unit of which they are a whole number: `90m`, `6h`.
    """
    for unit, size in _UNITS:
        if seconds % size == 0 and seconds:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def number(value: float) -> str:
    """
    *value* without the noise of binary fractions: 0.05 times 14.4 is 0.72.
    """
    return f"{value:.12g}"
