"""
A disk that is full: one line, what was kept is kept, and the next append goes on once there is space.
"""

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.integration.processes import trace_of
from tests.stores import open_store, settled_rows, sorted_rows
from toolspan.errors import StoreError
from toolspan.records import SpanFacts

MANY = [span for number in range(100, 20_000) for span in trace_of(number)]


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


def test_a_full_disk_is_one_line_and_loses_nothing(small_disk: Path) -> None:
    """What was acknowledged before is there, and nothing of what was refused."""
    path = small_disk / "x.duckdb"
    store = open_store(path)
    store.append(trace_of(1))

    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - 300_000))
    with pytest.raises(StoreError) as raised:
        store.append(MANY)
    ballast.unlink()
    store.append(trace_of(2))
    store.settle()

    assert "\n" not in str(raised.value)
    assert "free some space" in str(raised.value)
    assert sorted_rows(settled_rows([*trace_of(1), *trace_of(2)])) == sorted_rows(store.rows())


_LIMITED = """
    import resource, signal, sys
    from pathlib import Path
    from tests.integration.test_store_disk import MANY
    from tests.stores import open_store
    from toolspan.errors import StoreError
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    path = Path(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 200_000,) * 2)
    try:
        open_store(path).append(MANY)
    except StoreError as error:
        sys.exit(str(error))
"""


def test_a_file_that_may_not_grow_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    """As a quota or a limit of the process has it."""
    path = tmp_path / "x.duckdb"
    store = open_store(path)
    spans: list[SpanFacts] = trace_of(1)
    store.append(spans)
    command = [sys.executable, "-c", textwrap.dedent(_LIMITED), str(path)]

    refused = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    told: list[str] = []
    again = open_store(path, tell=told.append)
    again.append(trace_of(2))
    again.settle()
    store.settle()

    assert (1, 1) == (refused.returncode, refused.stderr.count("\n"))
    assert [] == told
    assert sorted_rows(settled_rows([*spans, *trace_of(2)])) == sorted_rows(again.rows())


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
