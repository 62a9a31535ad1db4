"""
Files of spans, cut into payloads: one OTLP request each.
"""

from toolspan.framing.payload import MAX_PAYLOAD_BYTES, Payload, Reason, Rejection
from toolspan.framing.reader import read_payloads

__all__ = ["MAX_PAYLOAD_BYTES", "Payload", "Reason", "Rejection", "read_payloads"]
