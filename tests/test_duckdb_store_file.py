"""
The store file as a file: what is deleted, copied, linked to, shared by threads, inherited, of another schema.
"""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import duckdb
import pytest

from tests.facts import run, tool_span, trace_id
from tests.stores import a_trace, open_store, settled_rows, sorted_rows
from toolspan.config import Settings
from toolspan.errors import StoreError
from toolspan.store import PruneResult
from toolspan.store.duckdb import DuckDBStore
from toolspan.store.schema import MIGRATIONS, SCHEMA_VERSION, migrate


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.duckdb"


@pytest.fixture
def store(path: Path) -> DuckDBStore:
    return open_store(path)


class TestPrune:
    def test_deletes_tasks_that_ended_before(self, store: DuckDBStore) -> None:
        """With their calls, sums, spans and totals; the others stay as they were."""
        old = [run(1, end=100), tool_span(1, 2, start=0)]
        new = [run(2, end=200), tool_span(2, 2, start=0)]
        store.append([*old, *new])
        store.settle()

        result = store.prune(200 * 10**6)

        assert PruneResult(tasks=1, calls=1) == result
        assert sorted_rows(settled_rows(new)) == sorted_rows(store.rows())
        assert [] == store.load_groups([trace_id(1)])
        with store.reading() as file:
            assert [(1,)] == file.connection.execute("select tasks from hourly_tasks").fetchall()

    def test_leaves_a_group_that_has_a_later_task(self, store: DuckDBStore) -> None:
        """Derived again, it would bring its old task back."""
        spans = [run(1, end=100, task_id="a"), run(2, end=500, task_id="b"), tool_span(2, 2, start=0, task_id="a")]
        store.append(spans)
        store.settle()

        assert PruneResult(0, 0) == store.prune(200 * 10**6)
        assert sorted_rows(settled_rows(spans)) == sorted_rows(store.rows())

    def test_gives_space_back(self, path: Path, store: DuckDBStore) -> None:
        """A file that is mostly free is written anew."""
        many = [span for number in range(1, 4000) for span in a_trace(number)]
        store.append(many)
        store.settle()
        before = path.stat().st_size

        store.prune(10**18)

        assert path.stat().st_size < before / 2
        assert 0 == len(store.rows().tasks)


class TestSnapshot:
    def test_is_the_same_store(self, tmp_path: Path, store: DuckDBStore) -> None:
        """It can be reported on and written to."""
        store.append(a_trace())
        store.settle()

        store.snapshot(tmp_path / "it's a copy.duckdb")
        copy = open_store(tmp_path / "it's a copy.duckdb")

        assert store.rows() == copy.rows()
        assert store.hash_key() == copy.hash_key()
        assert 3 == copy.append(a_trace()).duplicates

    def test_takes_no_file_s_place(self, tmp_path: Path, store: DuckDBStore) -> None:
        """One line, and what is there stays."""
        store.append(a_trace())
        (tmp_path / "there").write_text("mine")

        with pytest.raises(StoreError, match="is there already"):
            store.snapshot(tmp_path / "there")

        assert "mine" == (tmp_path / "there").read_text()
        assert ["there", "x.duckdb"] == sorted(
            each.name for each in tmp_path.iterdir() if each.suffix not in {".lock", ".turn"}
        )

    def test_has_the_mode_of_the_store(self, path: Path, store: DuckDBStore) -> None:
        """The hash key is in it; a file that was written anew has it, too."""
        store.append([span for number in range(1, 3000) for span in a_trace(number)])
        path.chmod(0o600)

        store.snapshot(path.with_name("copy"))
        store.prune(10**18)

        assert [0o600, 0o600] == [each.stat().st_mode & 0o777 for each in (path, path.with_name("copy"))]

    def test_takes_no_name_that_belongs_to_a_store(self, path: Path, store: DuckDBStore) -> None:
        """The next to open that store would take it for its log."""
        store.append(a_trace())

        with pytest.raises(StoreError, match="beside a store"):
            store.snapshot(path.with_name("x.duckdb.wal"))


class TestLinks:
    @pytest.mark.parametrize("is_there", [False, True])
    def test_a_link_is_the_file_it_leads_to(self, tmp_path: Path, is_there: bool) -> None:
        """Made, written, shrunk: the link stays a link, and there is one file."""
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real" / "x.duckdb")
        if is_there:
            open_store(tmp_path / "real" / "x.duckdb").append(a_trace(1))
        linked = open_store(tmp_path / "link")

        linked.append([span for number in range(2, 3000) for span in a_trace(number)])
        linked.prune(10**18)
        linked.append(a_trace(1))

        assert (tmp_path / "link").is_symlink()
        assert ["link", "real"] == sorted(each.name for each in tmp_path.iterdir())
        assert 1 == len(open_store(tmp_path / "real" / "x.duckdb").rows().tasks)

    def test_dots_mean_what_they_mean_to_the_system(self, tmp_path: Path) -> None:
        """The folder above a linked folder is that of the folder it leads to."""
        (tmp_path / "far" / "away").mkdir(parents=True)
        (tmp_path / "near").symlink_to(tmp_path / "far" / "away")

        open_store(tmp_path / "near" / ".." / "x.duckdb").append(a_trace())

        assert 1 == len(open_store(tmp_path / "far" / "x.duckdb").rows().tasks)

    @pytest.mark.parametrize("name", ["\udcff.duckdb", "a\0b"])
    def test_a_name_that_duckdb_cannot_take_is_refused(self, tmp_path: Path, name: str) -> None:
        """In one line, and nothing is left there."""
        with pytest.raises(StoreError, match="UTF-8"):
            open_store(tmp_path / name)

        assert [] == list(tmp_path.iterdir())


class TestThreadsAndForks:
    def test_threads_may_share_a_store(self, store: DuckDBStore) -> None:
        """One waits for the other."""
        with ThreadPoolExecutor(4) as threads:
            results = list(threads.map(store.append, map(a_trace, range(1, 13))))

        assert [3] * 12 == [result.new for result in results]
        assert 12 == len(store.rows().tasks)

    def test_a_forked_child_leaves_an_open_file_alone(self, path: Path) -> None:
        """It neither closes it at its exit nor writes to it."""
        store = DuckDBStore(path, purpose="a test", settings=Settings(), tell=print, lingers=True)
        store.append(a_trace(1))
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_append_in_child, args=(store, sender))
        child.start()
        said = receiver.recv()
        child.join()

        result = store.append(a_trace(2))
        log = path.with_name("x.duckdb.wal").exists()
        store.close()

        assert "was open in process" in said
        assert (3, True, 0) == (result.new, log, child.exitcode)
        assert 2 == len(open_store(path).rows().tasks)


def _append_in_child(store: DuckDBStore, sender: Connection) -> None:
    try:
        sender.send(str(store.append(a_trace(9))))
    except StoreError as error:
        sender.send(str(error))


class TestSchema:
    def test_a_newer_one_is_refused(self, path: Path, store: DuckDBStore) -> None:
        """In one line that says what to do; the file stays as it is."""
        store.append(a_trace())
        _set_version(path, SCHEMA_VERSION + 1)
        before = path.read_bytes()

        for attempt in (store.rows, store.settle, store.waiting):
            with pytest.raises(StoreError, match=rf"has schema {SCHEMA_VERSION + 1}, .* upgrade it"):
                attempt()

        assert before == path.read_bytes()

    def test_an_older_one_is_migrated_step_by_step(self, path: Path, store: DuckDBStore) -> None:
        """Each step in a transaction of its own that also counts the version."""
        store.append(a_trace())
        steps = {
            SCHEMA_VERSION: "alter table calls add column tokens bigint",
            SCHEMA_VERSION + 1: "alter table calls rename column tokens to cost",
        }
        with duckdb.connect(str(path)) as connection:
            passed = migrate(connection, SCHEMA_VERSION, migrations=steps)
            costs = connection.execute("select count(*), count(cost) from calls").fetchall()
            version = connection.execute("select value from settings where name = 'schema_version'").fetchall()

        assert [SCHEMA_VERSION + 1, SCHEMA_VERSION + 2] == passed
        assert ([(2, 0)], [(str(SCHEMA_VERSION + 2),)]) == (costs, version)

    def test_every_older_one_can_be_brought_up_to_date(self) -> None:
        """There is a step from each version to the next."""
        assert set(range(1, SCHEMA_VERSION)) == set(MIGRATIONS)


def _set_version(path: Path, version: int) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("update settings set value = ? where name = 'schema_version'", [str(version)])
