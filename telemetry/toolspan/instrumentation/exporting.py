"""
Another exporter as a destination: tagged spans to an OTLP endpoint, in a thread of ours.

The SDK's own batch processor throws the oldest span away when it is full and counts that only on request, and its
`force_flush` waits for as long as an export takes. Here the loss is counted, and every wait has an end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from opentelemetry import context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from toolspan.config import TOKEN_VARIABLE
from toolspan.errors import InputError
from toolspan.instrumentation.backlog import Limits
from toolspan.instrumentation.losses import Faults, Losses

#: As the SDK's batch processor has them, for these are whole spans with all that they carry.
LIMITS: Final = Limits(items=2_048, at_once=512)
#: The key by which every instrumentation knows; the SDK's own exporting threads have no other.
_SUPPRESSED: Final[str] = context._SUPPRESS_INSTRUMENTATION_KEY  # pyright: ignore[reportPrivateUsage]  # see above
_OTLP_PATH: Final = "/v1/traces"
_LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "[::1]", "::1")


class Exporting:
    """
    Exports through *exporter*; what that refuses is lost.
    """

    def __init__(self, exporter: SpanExporter, *, losses: Losses, faults: Faults) -> None:
        self._exporter = exporter
        self._losses = losses
        self._faults = faults

    def take(self, items: Sequence[ReadableSpan], /) -> None:
        """
        Exports *items*.
        """
        # requests of the exporter are no part of what the agent does
        token = context.attach(context.set_value(_SUPPRESSED, True))
        try:
            is_done = self._exporter.export(items) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001 - an exporter of somebody else; asked again it would fail again
            is_done = False
            self._faults.caught("an exporter", error)
        finally:
            context.detach(token)
        if not is_done:
            self._losses.add("export", len(items))

    def look_after(self) -> None:
        """
        Nothing is due.
        """

    def finish(self) -> None:
        """
        Nothing is to be completed.
        """


def otlp_exporter(endpoint: str, environ: Mapping[str, str]) -> SpanExporter:
    """
    An exporter to the OTLP *endpoint* over HTTP; one without a path gets that of the protocol.

    Raises:
        InputError: it is no URL.
    """
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"No OTLP endpoint: {endpoint!r}; write it like http://127.0.0.1:4318")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    url = endpoint if parts.path.strip("/") else f"{endpoint.rstrip('/')}{_OTLP_PATH}"
    token = environ.get(TOKEN_VARIABLE)
    return OTLPSpanExporter(url, headers={"Authorization": f"Bearer {token}"} if token else None)


def exporters_of(processors: Iterable[SpanProcessor]) -> Iterator[SpanExporter]:
    """
    The exporters of *processors*, and what these wrap.
    """
    for processor in processors:
        exporter = getattr(processor, "span_exporter", None)
        while isinstance(exporter, SpanExporter):
            yield exporter
            exporter = getattr(exporter, "wrapped", None)


def endpoint_of(exporter: SpanExporter) -> str:
    """
    Where *exporter* sends to, in one spelling; empty where it does not say.
    """
    endpoint = getattr(exporter, "_endpoint", None)
    if not isinstance(endpoint, str) or not endpoint:
        return ""
    parts = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
    host = "localhost" if parts.hostname in _LOCAL_NAMES else parts.hostname
    return f"{host}:{parts.port or {'http': 80, 'https': 443}.get(parts.scheme, '')}{parts.path.rstrip('/')}"


def is_there(exporter: SpanExporter, processors: Iterable[SpanProcessor]) -> bool:
    """
    Whether one of *processors* sends to where *exporter* sends already.
    """
    endpoint = endpoint_of(exporter)
    return any(
        other is exporter or (bool(endpoint) and endpoint_of(other) == endpoint) for other in exporters_of(processors)
    )
