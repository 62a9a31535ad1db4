"""
All cases and the whole corpus, cut into small requests and dealt to many runs of `ingest` at once, `report` beside
them: the store says what the files say.
"""

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

DATA = Path(__file__).parents[1] / "data"
SOURCES = sorted([*DATA.glob("cases/*.otlp.jsonl"), *DATA.glob("corpus/*.otlp.jsonl.gz")])


def cut(source: Path, chance: random.Random) -> Iterator[str]:
    """
    The requests of *source* as lines of a few spans each.
    """
    text = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    for line in text.splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                spans = list(scope["spans"])
                chance.shuffle(spans)
                while spans:
                    size = chance.randint(1, 4)
                    part, spans = spans[:size], spans[size:]
                    yield json.dumps({"resourceSpans": [{**resource, "scopeSpans": [{**scope, "spans": part}]}]})


def deal(folder: Path, count: int) -> list[Path]:
    """
    *count* files of all sources' requests in any order, a tenth of them twice.
    """
    chance = random.Random(3)
    lines = [line for source in SOURCES for line in cut(source, chance)]
    lines += chance.sample(lines, len(lines) // 10)
    chance.shuffle(lines)
    files = [folder / f"part{number}.otlp.jsonl" for number in range(count)]
    for number, file in enumerate(files):
        file.write_text("\n".join(lines[number::count]), encoding="utf-8")
    return files


def toolspan(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """
    One command in a process of its own.
    """
    command = [sys.executable, "-m", "toolspan", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def ingest_in_turn(files: list[Path], store: Path) -> list[tuple[int, str]]:
    """
    One run of `ingest` after the other; what each ended with and said.
    """
    runs = [toolspan("ingest", file, "--store", store) for file in files]
    return [(run.returncode, run.stderr) for run in runs]


def report_until(stop: Event, store: Path) -> list[int]:
    """
    One `report` after the other; what each ended with.
    """
    statuses: list[int] = []
    while not stop.is_set():
        statuses.append(toolspan("report", "--store", store, "--format", "json").returncode)
    return statuses


@pytest.mark.parametrize("command", ["report", "quality"])
def test_a_store_says_what_the_files_say(command: str, filled: Path) -> None:
    """Whatever order, repeats and processes the spans came through."""
    expected = toolspan(command, *SOURCES, "--format", "json")

    assert json.loads(expected.stdout) == json.loads(toolspan(command, "--store", filled, "--format", "json").stdout)


def test_a_store_lists_the_calls_that_the_files_have(filled: Path) -> None:
    """Every record, field by field; hashes of arguments are not among them."""
    expected = toolspan("calls", *SOURCES).stdout.splitlines()

    assert sorted(expected) == sorted(toolspan("calls", "--store", filled).stdout.splitlines())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    The store, once everybody has finished.
    """
    folder = tmp_path_factory.mktemp("everything")
    store = folder / "x.duckdb"
    files = deal(folder, 7)
    stop = Event()
    first = ingest_in_turn(files[:1], store)
    with ThreadPoolExecutor(4) as threads:
        reports = threads.submit(report_until, stop, store)
        writers = [threads.submit(ingest_in_turn, files[number::3], store) for number in range(3)]
        results = [result for writer in writers for result in writer.result()]
        stop.set()

    # one run may settle what another has not touched for the grace period, and says so
    assert {0} == {status for status, _ in first + results}
    assert all("waited to be settled" in said for _, said in first + results if said)
    assert {0} == set(reports.result())
    return store
