"""
An agent's process as a whole: forked, without a line of code, on a disk that is full or may only be read.
"""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Generator, Mapping
from pathlib import Path
from shutil import disk_usage
from typing import ClassVar

import pytest

from tests.stores import open_store
from toolspan.store.duckdb import DuckDBStore

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 120

#: What the programs here begin with.
AGENT = """
    import json, logging, os, sys, time
    import urllib.request
    from pathlib import Path

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from tests.tracing import RUN, call_book

    def work(provider, runs=1):
        tracer = provider.get_tracer("t")
        for _ in range(runs):
            with tracer.start_as_current_span("run", attributes=RUN):
                call_book(tracer)

    def scraped(port):
        for _ in range(2):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                text = answer.read().decode()
        found = [line for line in text.splitlines() if line.startswith("toolspan_spans_received_total ")]
        return float(found[0].split()[1])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.duckdb"


def run_agent(
    code: str, *arguments: str, environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """
    Runs *code* after `AGENT` in a process of its own.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLSPAN_", "OTEL_"))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(AGENT) + textwrap.dedent(code), *arguments],
        cwd=ROOT,
        env={**own, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def calls_in(path: Path) -> int:
    return len(open_store(path).rows().calls)


class TestForks:
    """
    Workers that are forked from a process that was instrumented: gunicorn with `preload_app`, `multiprocessing`.
    """

    def test_parent_and_child_keep_what_is_theirs(self, path: Path) -> None:
        """The child has a port of its own and counts from 0; nothing is written twice, and nothing waits for ever."""
        code = """
            from toolspan.instrumentation.instrumenting import instrument
            provider = TracerProvider()
            toolspan = instrument(provider, store=sys.argv[1], prometheus="19464-19499")
            work(provider, 3)
            provider.force_flush()
            work(provider, 2)  # which wait while the process is forked
            child = os.fork()
            work(provider)
            provider.shutdown()
            if child == 0:
                print(json.dumps({"child": scraped(toolspan.port)}), flush=True)
                os._exit(0)
            os.waitpid(child, 0)
            print(json.dumps({"parent": scraped(toolspan.port), "dropped": toolspan.dropped}), flush=True)
        """

        ended = run_agent(code, str(path))
        said = [json.loads(line) for line in ended.stdout.splitlines()]

        assert (0, [{"child": 2.0}, {"parent": 12.0, "dropped": {}}], 7) == (ended.returncode, said, calls_in(path)), (
            ended.stderr
        )

    def test_a_process_may_fork_while_its_store_is_written_to(self, path: Path) -> None:
        """A file that is open at the fork could never be used by the child."""
        code = """
            from threading import Event, Thread
            from toolspan.instrumentation import embedded
            from toolspan.instrumentation import processor
            from toolspan.instrumentation.instrumenting import instrument
            from toolspan.store.duckdb import DuckDBStore
            embedded._TIMEOUT_S = processor.SHUTDOWN_S = 60  # all write at once, on a machine that does other things
            # a resource like this one is made without a thread pool, for which forks are prepared when it is imported
            provider = TracerProvider(resource=Resource({"service.name": "travel"}))
            toolspan = instrument(provider, store=sys.argv[1])
            is_open, never = Event(), Event()
            settle = DuckDBStore._settle

            def lingering(store, *arguments):
                is_open.set()
                never.wait(0.2)  # long enough for a fork to come in between
                return settle(store, *arguments)

            DuckDBStore._settle = lingering
            codes = []
            for _ in range(3):
                is_open.clear()
                work(provider)
                flushing = Thread(target=provider.force_flush)
                flushing.start()
                is_open.wait()
                child = os.fork()
                if child == 0:
                    work(provider)
                    provider.shutdown()
                    os._exit(len(toolspan.dropped))
                codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                flushing.join()
            provider.shutdown()
            print(json.dumps([codes, toolspan.dropped]))
        """

        ended = run_agent(code, str(path))

        assert [[0, 0, 0], {}] == json.loads(ended.stdout), ended.stderr
        assert 6 == calls_in(path)


class TestZeroCode:
    """
    A service without a line of ours.
    """

    code = """
        from opentelemetry import trace
        tracer = trace.get_tracer("t")
        own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"}
        with tracer.start_as_current_span("execute_tool book", attributes=own) as span:
            span.set_status(trace.StatusCode.ERROR, "503 Service Unavailable")
    """
    environ: ClassVar = {
        "OTEL_TRACES_EXPORTER": "toolspan",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
    }

    def test_an_environment_variable_is_enough(self, path: Path) -> None:
        """What `opentelemetry-instrument` does; what waits is kept when the process ends."""
        configure = """
            from opentelemetry.sdk._configuration import _OTelSDKConfigurator
            _OTelSDKConfigurator().configure()
        """

        ended = run_agent(
            textwrap.dedent(configure) + textwrap.dedent(self.code),
            environ={**self.environ, "TOOLSPAN_STORE": str(path)},
        )
        [call] = open_store(path).rows().calls

        assert (0, "book", "transient", "UNAVAILABLE") == (ended.returncode, call.tool, call.error_class, call.code)

    def test_the_launcher_of_opentelemetry_is_enough(self, path: Path, tmp_path: Path) -> None:
        """With its distribution, which is what reads the environment."""
        pytest.importorskip("opentelemetry.distro", reason="opentelemetry-distro configures what the launcher starts")
        agent = tmp_path / "agent.py"
        agent.write_text(textwrap.dedent(self.code))
        launcher = str(Path(sys.executable).with_name("opentelemetry-instrument"))
        ended = subprocess.run(
            [launcher, sys.executable, str(agent)],
            env={**os.environ, **self.environ, "TOOLSPAN_STORE": str(path)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        [call] = open_store(path).rows().calls

        assert (0, "book", "transient", "UNAVAILABLE") == (ended.returncode, call.tool, call.error_class, call.code)

    def test_one_line_is_enough_where_no_provider_was_set(self, path: Path) -> None:
        """One is made, and shut down at the end of the process."""
        code = """
            from toolspan.instrumentation.instrumenting import instrument
            instrument()
            work(trace)
        """

        ended = run_agent(code, environ={"TOOLSPAN_STORE": str(path)})

        assert (0, "", 1) == (ended.returncode, ended.stderr, calls_in(path))

    def test_a_disabled_sdk_stays_disabled(self, path: Path) -> None:
        """OpenTelemetry's own switch."""
        code = """
            from toolspan.instrumentation.instrumenting import instrument
            instrument()
            work(trace)
        """

        ended = run_agent(code, environ={"TOOLSPAN_STORE": str(path), "OTEL_SDK_DISABLED": "true"})

        assert (0, 0) == (ended.returncode, calls_in(path) if path.exists() else 0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """
    A file system of a few megabytes.
    """
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("may not mount a file system of its own")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def store_of(path: Path) -> DuckDBStore:
    store = open_store(path)
    store.hash_key()
    return store


class TestDisk:
    """
    A disk that does not take what is written.
    """

    code = """
        from toolspan.instrumentation.instrumenting import instrument
        exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        toolspan = instrument(provider, store=sys.argv[1])
        work(provider, 20)
        flushed = provider.force_flush()
        if len(sys.argv) > 2:
            Path(sys.argv[2]).unlink()
        provider.shutdown()
        print(json.dumps([flushed, len(exporter.get_finished_spans()), toolspan.dropped]))
    """

    def test_a_full_disk_costs_what_does_not_fit(self, small_disk: Path) -> None:
        """The exporter that is there gets all spans; the loss is counted and said."""
        path = small_disk / "calls.duckdb"
        store_of(path)
        (small_disk / "ballast").write_bytes(bytes(disk_usage(small_disk).free))

        ended = run_agent(self.code, str(path))

        assert [False, 40, {"shutdown": 40}] == json.loads(ended.stdout)
        assert "toolspan lost spans in this process: 40 spans" in ended.stderr
        assert "Traceback" not in ended.stderr

    def test_what_waited_is_written_once_there_is_space(self, small_disk: Path) -> None:
        """Nothing is lost by a disk that was full for a while."""
        path, ballast = small_disk / "calls.duckdb", small_disk / "ballast"
        store_of(path)
        ballast.write_bytes(bytes(disk_usage(small_disk).free))

        ended = run_agent(self.code, str(path), str(ballast))

        assert ([False, 40, {}], 20) == (json.loads(ended.stdout), calls_in(path))

    def test_a_disk_that_may_only_be_read_costs_the_store(self, small_disk: Path) -> None:
        """Not the start of the service."""
        path = small_disk / "calls.duckdb"
        store_of(path)
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

        ended = run_agent(self.code, str(path))

        assert [False, 40, {"shutdown": 40}] == json.loads(ended.stdout)
        assert "Traceback" not in ended.stderr
