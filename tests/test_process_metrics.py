"""
Prometheus from the agent's own process: what truly happened, on a registry or a port.
"""

import socket
from collections.abc import Generator
from contextlib import closing
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.facts import run, tool_span
from tests.stores import Clock
from tests.tracing import RUN, call_book, provider_with
from toolspan.config import Settings
from toolspan.errors import InputError
from toolspan.instrumentation.instrumenting import instrument, uninstrument
from toolspan.instrumentation.losses import Losses
from toolspan.instrumentation.process_metrics import ProcessMetrics
from toolspan.instrumentation.scraping import Ports, parse_ports
from toolspan.store import AppendResult


@pytest.fixture(autouse=True)
def clean() -> Generator[None]:
    """
    Nothing left instrumented.
    """
    yield
    uninstrument()


def values_in(text: str) -> dict[tuple[str, ...], float]:
    """
    What is not 0 in a scrape, by name and the values of labels but the bounds of buckets.
    """
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.value and "le" not in sample.labels
    }


def scrape(registry: CollectorRegistry) -> dict[tuple[str, ...], float]:
    """
    The second of two scrapes: the first shows zeros.
    """
    generate_latest(registry)
    return values_in(generate_latest(registry).decode())


class TestFolding:
    """
    What is counted, and when.
    """

    def shown(self, losses: Losses | None = None) -> tuple[ProcessMetrics, CollectorRegistry, Clock]:
        clock, registry = Clock(), CollectorRegistry()
        metrics = ProcessMetrics(Settings(), losses=losses or Losses(), clock_ns=clock)
        registry.register(metrics)
        return metrics, registry, clock

    def test_calls_count_a_grace_period_after_their_last_span_and_tasks_when_they_settle(self) -> None:
        """A task that goes on does not keep its calls from being counted."""
        metrics, registry, clock = self.shown()
        metrics.take([tool_span(1, 2, start=0, error=("transient", "UNAVAILABLE"))])
        clock.pass_s(2)
        metrics.look_after()
        calls = scrape(registry)
        metrics.take([tool_span(1, 3, start=20), run(1)])
        clock.pass_s(2)
        metrics.look_after()
        all_of_it = scrape(registry)

        assert (1, None, 1, 1, 1) == (
            calls["toolspan_errors_total", "transient", "UNAVAILABLE", "search"],
            calls.get(("toolspan_tasks_total", "resolved")),
            calls["toolspan_open_tasks",],
            all_of_it["toolspan_tasks_total", "resolved"],
            all_of_it["toolspan_retries_total", "transient", "search", "allowed"],
        )

    def test_nothing_counts_twice(self) -> None:
        """A repeated span, and a late one, which settles its task again."""
        metrics, registry, clock = self.shown()
        for spans in ([run(1), tool_span(1, 2, start=0)], [run(1)], [tool_span(1, 3, start=50)]):
            metrics.take(spans)
            clock.pass_s(3)
            metrics.look_after()
        counted = scrape(registry)

        assert (2, 1, 1, 4) == (
            counted["toolspan_calls_total", "ok", "search"],
            counted["toolspan_tasks_total", "resolved"],
            counted["toolspan_resettled_tasks_total",],
            counted["toolspan_spans_received_total",],
        )

    def test_losses_of_the_process_are_shown(self) -> None:
        """Those that happen while nothing is counted, too; each once."""
        losses = Losses()
        metrics, registry, _ = self.shown(losses)
        losses.add("queue_full", 3)
        metrics.written(AppendResult(1, 0, 0, 2, frozenset()))
        scrape(registry)
        losses.add("queue_full", 1)

        assert {"queue_full": 4, "late": 2} == {
            key[1]: value for key, value in scrape(registry).items() if key[0] == "toolspan_spans_dropped_total"
        }

    def test_a_conflict_is_shown_as_one(self) -> None:
        """As a collector does."""
        metrics, registry, _ = self.shown()
        metrics.take([run(1), run(1, end=7)])

        assert 1 == scrape(registry)["toolspan_spans_dropped_total", "conflict"]


class TestRegistry:
    """
    A registry that the service shows already.
    """

    def test_what_happened_is_on_it(self) -> None:
        """Beside whatever else the service counts."""
        registry, provider = CollectorRegistry(), provider_with()
        instrument(provider, prometheus=registry)
        tracer = provider.get_tracer("t")
        with tracer.start_as_current_span("run", attributes=RUN):
            call_book(tracer, failure="503 Service Unavailable")
            call_book(tracer)
        provider.force_flush()
        counted = scrape(registry)

        assert (1, 1, 1, 3) == (
            counted["toolspan_calls_total", "ok", "book"],
            counted["toolspan_errors_total", "transient", "UNAVAILABLE", "book"],
            counted["toolspan_tasks_total", "resolved"],
            counted["toolspan_spans_received_total",],
        )

    def test_it_is_left_at_the_end(self) -> None:
        """For whoever comes next."""
        registry = CollectorRegistry()
        instrument(provider_with(), prometheus=registry)
        uninstrument()

        assert "" == generate_latest(registry).decode()


class TestPort:
    """
    A port of one's own.
    """

    def test_a_port_shows_them(self) -> None:
        """Also while somebody has asked and does not read: he holds a thread of ours and nothing else."""
        provider = provider_with()
        port = instrument(provider, prometheus=0).port
        assert port is not None
        with closing(socket.create_connection(("127.0.0.1", port))) as hung:
            hung.sendall(b"GET /metrics HTTP/1.1\r\n")
            call_book(provider.get_tracer("t"))
            flushed = provider.force_flush()
            texts: list[str] = []
            for _ in range(2):
                with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                    texts.append(answer.read().decode())

        assert (True, 1) == (flushed, values_in(texts[1])["toolspan_calls_total", "ok", "book"])

    def test_several_processes_have_a_port_each(self, caplog: pytest.LogCaptureFixture) -> None:
        """Of a range; where none is left, that is said and nothing is shown."""
        with closing(socket.socket()) as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            first = taken.getsockname()[1]
            free = instrument(provider_with(), prometheus=f"{first}-{min(first + 50, 65_535)}").port
            none = instrument(provider_with(), prometheus=first).port

        assert (True, None) == (free is not None and free > first, none)
        assert "several processes need a port each" in caplog.records[0].getMessage()

    def test_it_is_closed_at_the_end(self) -> None:
        """And can be opened again."""
        provider = provider_with()
        port = instrument(provider, prometheus=0).port
        assert port is not None
        uninstrument()

        assert port == instrument(provider, prometheus=port).port

    @pytest.mark.parametrize(
        ("text", "ports"),
        [
            ("9464", Ports("127.0.0.1", 9464, 9464)),
            ("9464-9479", Ports("127.0.0.1", 9464, 9479)),
            ("10.0.0.1:9464", Ports("10.0.0.1", 9464, 9464)),
            ("[::]:9464-9465", Ports("::", 9464, 9465)),
            (":9464", Ports("127.0.0.1", 9464, 9464)),
        ],
    )
    def test_ports_are_written_so(self, text: str, ports: Ports) -> None:
        """Without a host, nobody but this machine may ask."""
        assert ports == parse_ports(text)

    @pytest.mark.parametrize("text", ["", "http", "9479-9464", "65536", "-1", "1:2:3"])
    def test_anything_else_is_refused(self, text: str) -> None:
        """In one line that shows how."""
        with pytest.raises(InputError, match="write it like 9464"):
            parse_ports(text)

    def test_an_address_of_ipv6_is_served(self) -> None:
        """Where the machine has any."""
        if not socket.has_ipv6:
            pytest.skip("no IPv6 here")
        port = instrument(provider_with(), prometheus="[::1]:0").port
        if port is None:
            pytest.skip("no IPv6 here")
        with urlopen(f"http://[::1]:{port}/metrics") as answer:
            assert 200 == answer.status


def test_prometheus_needs_its_client(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The base installation tags and exports; one line says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    instrument(provider_with(), prometheus=0)

    assert "toolspan[prometheus]" in caplog.records[0].getMessage()
