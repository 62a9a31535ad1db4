"""
Where faults of toolspan end that occur in a call of a tool: logged once for each place, counted, never raised.
"""

from typing import Final

from toolspan.instrumentation.losses import Faults

#: State of the process, as its log is.
FAULTS: Final = Faults()
