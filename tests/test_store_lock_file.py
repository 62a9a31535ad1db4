"""
What a lock file says of its holder, to those who wait and to those who come later, and what it keeps for them.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lock_holders import OtherProcess, lock_file, refusal, take
from toolspan.errors import StoreError
from toolspan.store.lock import Holder, locked

PAGE_BYTES = 4096

LONG: dict[str, object] = {"calls": 10**30, "by_table": {"spans": [1, 2, None, 0.5]}, "text": "ü" * 1000}
SHORT: dict[str, object] = {"calls": 1}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """
    Where a store file would lie.
    """
    return tmp_path / "x.duckdb"


@pytest.fixture(scope="module")
def other() -> Iterator[OtherProcess]:
    """
    One process for all tests: to start one takes longer than all they do.
    """
    with OtherProcess() as process:
        yield process


def note(store: Path, ledger: dict[str, object]) -> None:
    """
    Leaves *ledger* beside *store*.
    """
    with locked(store, exclusive=True, purpose="toolspan test", timeout_s=0) as lock:
        lock.note(ledger)


def noted(store: Path) -> dict[str, object]:
    """
    What a reader finds beside *store*.
    """
    with locked(store, exclusive=False, purpose="toolspan test", timeout_s=0) as lock:
        return lock.noted()


class TestLedger:
    def test_it_is_found_by_whoever_comes_next(self, store: Path) -> None:
        """
        As it was left; at first there is none.
        """
        at_first = noted(store)
        note(store, LONG)

        assert ({}, LONG) == (at_first, noted(store))

    def test_the_writer_finds_it_itself(self, store: Path) -> None:
        """
        What the last one left until it leaves its own.
        """
        note(store, LONG)
        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=0) as lock:
            before = lock.noted()
            lock.note(SHORT)

            assert (LONG, SHORT) == (before, lock.noted())

    def test_a_writer_that_notes_nothing_leaves_it(self, store: Path) -> None:
        """
        Also one that is killed.
        """
        note(store, LONG)
        take(store, exclusive=True).release()
        with OtherProcess() as process:
            process.take(store, exclusive=True)

        assert LONG == noted(store)

    def test_nothing_of_a_longer_one_is_left(self, store: Path) -> None:
        """
        Each is a page long, so that one write covers the last.
        """
        note(store, LONG)
        sizes = [lock_file(store).stat().st_size]
        note(store, SHORT)
        sizes.append(lock_file(store).stat().st_size)

        assert ([PAGE_BYTES, PAGE_BYTES], SHORT) == (sizes, noted(store))

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\0" * PAGE_BYTES,
            b"\xff\xfe",
            b"[" * PAGE_BYTES,
            b"[1]",
            b"4711",
            b'{"ledger": [1]}',
            b'{"ledger": {"calls": 1}, "holder": {"pid": "x"}}',
            b'{"ledger": {"calls": 1}',
        ],
    )
    def test_a_damaged_one_is_none(self, store: Path, content: bytes) -> None:
        """
        And hinders nobody to leave another.
        """
        lock_file(store).write_bytes(content)

        found = noted(store)
        note(store, SHORT)

        assert ({}, SHORT) == (found, noted(store))

    def test_text_that_is_no_unicode_spoils_nothing(self, store: Path) -> None:
        """
        A lone surrogate is shown as a question mark.
        """
        note(store, {"text": "a\ud800b", "calls": 1})

        assert {"text": "a?b", "calls": 1} == noted(store)

    def test_one_larger_than_a_page_is_refused(self, store: Path) -> None:
        """
        It would be written in pieces. What was there stays.
        """
        note(store, SHORT)

        with pytest.raises(StoreError) as caught:
            note(store, {"text": "x" * PAGE_BYTES})

        assert re.fullmatch(r"4,\d\d\d bytes do not fit into a lock file; leave less than 4,096", str(caught.value))
        assert SHORT == noted(store)

    def test_a_reader_leaves_none(self, store: Path) -> None:
        """
        Others read at the same time.
        """
        with (
            locked(store, exclusive=False, purpose="toolspan test", timeout_s=0) as lock,
            pytest.raises(StoreError) as caught,
        ):
            lock.note({})

        assert f"Cannot note anything beside {store}: it is held for reading; hold it exclusively" == str(caught.value)

    def test_a_released_lock_is_of_no_use(self, store: Path) -> None:
        """
        What it knew may have changed since.
        """
        lock = take(store, exclusive=True)
        lock.release()

        for use in (lock.noted, lock.last_holder, lambda: lock.note({})):
            with pytest.raises(StoreError) as caught:
                use()
            assert f"The lock of {store} was released; open the store anew" == str(caught.value)


class TestHolder:
    def test_the_last_writer_is_known(self, store: Path, other: OtherProcess) -> None:
        """
        To readers and writers alike; at first there is none, and readers leave no trace.
        """
        with locked(store, exclusive=False, purpose="toolspan test", timeout_s=0) as lock:
            at_first = lock.last_holder()
        other.take(store, exclusive=True, url="http://127.0.0.1:9464")
        other.release()
        with locked(store, exclusive=False, purpose="toolspan test", timeout_s=0) as lock:
            for_a_reader = lock.last_holder()
        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=0) as lock:
            lock.note(LONG)
            for_a_writer = lock.last_holder()

        assert for_a_reader is not None
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", for_a_reader.since)
        expected = Holder(other.pid, "toolspan other", "http://127.0.0.1:9464", for_a_reader.since)
        assert (None, expected, expected) == (at_first, for_a_reader, for_a_writer)

    def test_the_file_says_who_holds_it(self, store: Path) -> None:
        """
        While it is held, and that it is not any more: for people who look into it.
        """
        with locked(store, exclusive=True, purpose="toolspan test", timeout_s=0) as lock:
            lock.note(SHORT)
            during = json.loads(lock_file(store).read_bytes())
        after = json.loads(lock_file(store).read_bytes())

        assert (os.getpid(), "toolspan test") == (during["holder"]["pid"], during["holder"]["purpose"])
        assert ({**during, "is_holding": True}, {**during, "is_holding": False}) == (during, after)


class TestBusy:
    def test_it_says_whom_to_ask(self, store: Path, other: OtherProcess) -> None:
        """
        Who holds it, since when, and where it answers.
        """
        other.take(store, exclusive=True, url="http://127.0.0.1:9464")
        since = json.loads(lock_file(store).read_bytes())["holder"]["since"]
        said = [refusal(store, exclusive=exclusive) for exclusive in (True, False)]
        other.release()

        who = f"toolspan other (pid {other.pid}) since {since}"
        assert [f"{store} is in use by {who}; waited 0 s. Ask it at http://127.0.0.1:9464 instead."] * 2 == said

    def test_it_says_whom_to_wait_for(self, store: Path, other: OtherProcess) -> None:
        """
        One who answers nothing.
        """
        other.take(store, exclusive=True)
        since = json.loads(lock_file(store).read_bytes())["holder"]["since"]
        said = refusal(store, exclusive=False)
        other.release()

        who = f"toolspan other (pid {other.pid}) since {since}"
        assert f"{store} is in use by {who}; waited 0 s. Wait for it, or stop it." == said

    def test_readers_have_no_names(self, store: Path, other: OtherProcess) -> None:
        """
        They are many; a writer who was there before them is not blamed.
        """
        with OtherProcess() as killed:
            killed.take(store, exclusive=True)
        other.take(store, exclusive=False)
        said = refusal(store, exclusive=True)
        other.release()

        assert f"{store} is being read by other processes; waited 0 s. Wait for them, or stop them." == said

    @pytest.mark.parametrize("content", [b"", b"{", b'{"holder": {"pid": 1, "purpose": "old"}, "is_holding": false}'])
    def test_who_says_nothing_is_another_process(self, store: Path, content: bytes) -> None:
        """
        Or who has not come to it yet.
        """
        lock_file(store).write_bytes(content)
        with lock_file(store).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            said = refusal(store, exclusive=False)

        assert f"{store} is in use by another process; waited 0 s. Wait for it, or stop it." == said

    def test_it_is_one_line_whatever_the_file_says(self, store: Path) -> None:
        """
        Anybody may have written it.
        """
        record = {"holder": {"pid": 1, "purpose": "a\nb", "url": "c\nd", "since": "e\nf"}, "is_holding": True}
        lock_file(store).write_text(json.dumps(record), encoding="utf-8")
        with lock_file(store).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            said = refusal(store, exclusive=False)

        assert said.endswith(r"in use by 'a\nb' (pid 1) since 'e\nf'; waited 0 s. Ask it at 'c\nd' instead.")
        assert said.isprintable()
