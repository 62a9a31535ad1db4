"""
Where a store's lock can lie, and what is said where it cannot.
"""

import fcntl
import os
import socket
import stat
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lock_holders import is_free, lock_file, refusal, take
from toolspan.store.lock import locked

#: The user id of nobody, who owns nothing.
NOBODY = 65534


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """
    Where a store file would lie.
    """
    return tmp_path / "x.duckdb"


def bind(path: Path) -> None:
    """
    Leaves a socket at *path*.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


class TestPlace:
    def test_a_missing_folder_is_to_be_made(self, tmp_path: Path) -> None:
        """
        We make none: it may be a disk that is not mounted.
        """
        store = tmp_path / "my data" / "x.duckdb"

        said = refusal(store, exclusive=True)

        folder = store.parent
        assert f"Cannot open {store}: the folder {folder} does not exist; create it (mkdir -p '{folder}')" == said

    def test_a_directory_is_no_store(self, tmp_path: Path) -> None:
        """
        Nothing is made beside it.
        """
        store = tmp_path / "data"
        store.mkdir()

        said = refusal(store, exclusive=True)

        assert f"{store} is a directory; name a file in it, for example {store}/toolspan.duckdb" == said
        assert [store] == list(tmp_path.iterdir())

    def test_a_pipe_is_no_store(self, store: Path) -> None:
        """
        To open it would wait for somebody at the other end.
        """
        os.mkfifo(store)

        assert f"{store} is a FIFO; name a file" == refusal(store, exclusive=False)

    def test_a_device_is_no_store(self) -> None:
        """
        Whatever is written there.
        """
        assert "/dev/null is a device; name a file" == refusal(Path("/dev/null"), exclusive=True)

    def test_a_file_is_no_folder(self, store: Path) -> None:
        """
        As where a store's name was given twice.
        """
        store.touch()

        expected = f"Cannot open {store}/x.duckdb: not a directory; check the path"
        assert expected == refusal(store / "x.duckdb", exclusive=True)

    def test_a_path_that_cannot_be_is_told(self, tmp_path: Path) -> None:
        """
        In one line, with what the system says of it.
        """
        loop = tmp_path / "loop"
        loop.symlink_to(loop)
        too_long = tmp_path / ("x" * 253)

        assert f"Cannot open {loop}: too many levels of symbolic links; check the path" == refusal(loop, exclusive=True)
        said = refusal(too_long, exclusive=True)
        assert f"Cannot write {too_long}.turn: file name too long; give the store a shorter name" == said
        assert refusal(Path("x\0y"), exclusive=True).startswith(r"Cannot open 'x\x00y': ")

    @pytest.mark.parametrize("suffix", ["lock", "turn"])
    @pytest.mark.parametrize("exclusive", [True, False])
    def test_what_lies_behind_a_link_is_left_alone(
        self, store: Path, tmp_path: Path, suffix: str, *, exclusive: bool
    ) -> None:
        """
        It is not ours.
        """
        precious, link = tmp_path / "precious", tmp_path / f"x.duckdb.{suffix}"
        precious.write_bytes(b"precious")
        link.symlink_to(precious)

        said = refusal(store, exclusive=exclusive)

        assert f"{link} is a symbolic link where a lock file belongs; remove it" == said
        assert b"precious" == precious.read_bytes()

    @pytest.mark.parametrize(
        ("make", "kind"),
        [(os.mkfifo, "a FIFO"), (os.mkdir, "a directory"), (bind, "a socket")],
        ids=["fifo", "directory", "socket"],
    )
    @pytest.mark.parametrize("exclusive", [True, False])
    def test_what_is_no_file_is_no_lock_file(
        self, store: Path, make: Callable[[Path], None], kind: str, *, exclusive: bool
    ) -> None:
        """
        Nobody waits for the other end of a pipe.
        """
        make(lock_file(store))

        said = refusal(store, exclusive=exclusive)

        assert f"{lock_file(store)} is {kind} where a lock file belongs; remove it" == said


@pytest.fixture
def foreign() -> Iterator[Path]:
    """
    Where a store would lie in a folder that may be read and not written.
    """
    # Not below `tmp_path`, which nobody else may enter.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        yield Path(folder) / "x.duckdb"
        Path(folder).chmod(0o755)


@contextmanager
def powerless() -> Generator[None, None, None]:
    """
    What is done inside is done by nobody, where tests run as root, whom no mode stops.
    """
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


class TestPermissions:
    def test_a_writer_needs_a_folder_to_write_in(self, foreign: Path) -> None:
        """
        DuckDB does, too, for its log.
        """
        with powerless():
            said = refusal(foreign, exclusive=True)

        expected = f"Cannot write in {foreign.parent}: permission denied; check its owner and mode (ls -l)"
        assert expected == said

    def test_a_reader_goes_without_where_there_can_be_no_lock(self, foreign: Path) -> None:
        """
        No writer is there: he would have made the lock file.
        """
        with powerless(), locked(foreign, exclusive=False, purpose="toolspan test", timeout_s=0) as lock:
            found = (lock.noted(), lock.last_holder())

        assert ({}, None) == found
        assert [] == list(foreign.parent.iterdir())

    @pytest.mark.parametrize("has_turnstile", [True, False])
    def test_a_reader_takes_a_lock_file_that_he_may_only_read(self, foreign: Path, *, has_turnstile: bool) -> None:
        """
        It keeps writers out like any other, and they him.
        """
        make_read_only(lock_file(foreign))
        if has_turnstile:
            make_read_only(foreign.with_name("x.duckdb.turn"))

        with lock_file(foreign).open("rb") as file:
            with powerless(), locked(foreign, exclusive=False, purpose="toolspan test", timeout_s=0):
                assert not is_lockable(file.fileno())
            assert is_lockable(file.fileno())
            with powerless():
                assert not is_free(foreign, exclusive=False)

    def test_a_lock_file_that_cannot_be_read_keeps_readers_out(self, foreign: Path) -> None:
        """
        Somebody may hold it.
        """
        make_read_only(lock_file(foreign)).chmod(0)

        with powerless():
            said = refusal(foreign, exclusive=False)

        assert f"Cannot read {lock_file(foreign)}: permission denied; check its owner and mode (ls -l)" == said

    def test_a_lock_file_that_cannot_be_written_keeps_writers_out(self, foreign: Path) -> None:
        """
        Others could not see who holds the store.
        """
        make_read_only(lock_file(foreign))
        foreign.parent.chmod(0o777)

        with powerless():
            said = refusal(foreign, exclusive=True)

        assert f"Cannot write {lock_file(foreign)}: permission denied; check its owner and mode (ls -l)" == said

    def test_the_lock_of_a_store_to_be_made_has_the_mode_that_it_will_have(self, store: Path) -> None:
        """
        The umask decides, as for any file.
        """
        umask = os.umask(0o007)
        take(store, exclusive=False).release()
        os.umask(umask)

        modes = [stat.S_IMODE(path.stat().st_mode) for path in store.parent.iterdir()]
        assert [0o660, 0o660] == modes

    def test_who_may_write_the_store_may_write_its_lock(self, store: Path) -> None:
        """
        Whoever makes the lock file, and with whatever umask.
        """
        store.touch()
        store.chmod(0o770)
        umask = os.umask(0o077)
        take(store, exclusive=False).release()
        os.umask(umask)

        modes = [stat.S_IMODE(path.stat().st_mode) for path in store.parent.iterdir() if path != store]
        assert [0o660, 0o660] == modes

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    def test_root_who_only_looks_leaves_the_lock_to_the_owner_of_the_store(self, store: Path) -> None:
        """
        Who could else not write to it any more.
        """
        store.touch()
        os.chown(store, NOBODY, NOBODY)
        take(store, exclusive=False).release()

        owners = {(path.stat().st_uid, path.stat().st_gid) for path in store.parent.iterdir()}
        assert {(NOBODY, NOBODY)} == owners


def make_read_only(path: Path) -> Path:
    """
    An empty file at *path*, which nobody may write.
    """
    path.parent.chmod(0o755)
    path.touch()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    return path


def is_lockable(descriptor: int) -> bool:
    """
    Whether an open file could be locked exclusively; it is, if so.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
