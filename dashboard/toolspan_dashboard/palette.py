"""
Colours that people with any colour vision can tell apart, on light and on dark: those of Okabe and Ito.

No colour stands alone: a class is also named, a verdict also has a shape or a word.
"""

from collections.abc import Mapping
from typing import Final

CLASS_COLOURS: Final[Mapping[str, str]] = {
    "transient": "#56B4E9",
    "validation": "#E69F00",
    "permission": "#CC79A7",
    "business_rule": "#009E73",
    "fatal": "#D55E00",
    "unclassified": "#8C8C8C",
}
#: Of a call by how it ended, beside the classes.
OK: Final = "#0072B2"
CALM: Final = "#8C8C8C"
ALARM: Final = "#D55E00"
#: Percentiles, in the order p50, p95, p99, max; their lines also differ in dashes.
SERIES: Final = ("#0072B2", "#E69F00", "#CC79A7", "#D55E00")
