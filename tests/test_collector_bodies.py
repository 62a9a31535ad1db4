"""
Bodies of requests: what goes in comes out, and nothing is held beyond the bounds.
"""

import asyncio
import gzip
import random
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspan.collector import bodies
from toolspan.collector.bodies import MAX_BODY_BYTES, Coding, Room, TooLargeError, decompress, read_body
from toolspan.errors import InputError, OverloadedError

#: Larger than what is decompressed at a time and made at a time; of parts that compress and parts that do not.
LARGE = b"".join(random.Random(4).randbytes(200_000) + bytes(1_500_000) for _ in range(2))
COMPRESSED = {Coding.GZIP: gzip.compress(LARGE, 1), Coding.DEFLATE: zlib.compress(LARGE, 1)}


class Sender:
    """
    Sends *chunks*, and knows how many were taken.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.taken = 0
        self._chunks = chunks

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            self.taken += 1
            yield chunk


def read(sender: Sender, room: Room, *, declared_bytes: int = 0) -> bytes:
    """
    What is read of *sender*.
    """
    with room.share() as share:
        return asyncio.run(read_body(sender.chunks(), declared_bytes=declared_bytes, share=share))


class TestReading:
    @given(st.lists(st.binary(max_size=20), max_size=8))
    def test_chunks_are_one_body(self, chunks: list[bytes]) -> None:
        """In their order."""
        assert b"".join(chunks) == read(Sender(chunks), Room())

    def test_stops_at_the_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The chunk that is too much is the last that is taken."""
        monkeypatch.setattr(bodies, "MAX_BODY_BYTES", 25)
        sender = Sender([bytes(10)] * 9)

        with pytest.raises(TooLargeError, match=r"A request may hold 25 bytes, .* send smaller batches"):
            read(sender, Room())
        assert 3 == sender.taken
        assert 25 == len(read(Sender([bytes(10), bytes(15)]), Room()))

    def test_takes_nothing_of_what_is_declared_too_large(self) -> None:
        """A length may lie, but not to the advantage of its sender."""
        sender = Sender([b"x"])

        with pytest.raises(TooLargeError):
            read(sender, Room(), declared_bytes=MAX_BODY_BYTES + 1)
        assert 0 == sender.taken

    def test_what_arrives_at_once_is_bounded_together(self) -> None:
        """Room that others took is there again when they have handed over, or failed."""
        room = Room(25)
        with room.share() as other:
            other.take(10)
            with pytest.raises(OverloadedError, match="More requests arrive at once") as refused:
                read(Sender([bytes(10)] * 2), room)
            within = read(Sender([bytes(15)]), room)
        after = read(Sender([bytes(25)]), room)

        assert (15, 25) == (len(within), len(after))
        assert refused.value.retry_after_s > 0


class TestDecompressing:
    @pytest.mark.parametrize("coding", Coding)
    def test_what_goes_in_comes_out(self, coding: Coding) -> None:
        """Piece by piece."""
        assert LARGE == decompress(COMPRESSED[coding], coding=coding)
        assert b"" == decompress(b"", coding=coding)

    @pytest.mark.parametrize("coding", Coding)
    def test_bound_is_exact(self, coding: Coding) -> None:
        """As much as may be, and not a byte more."""
        assert LARGE == decompress(COMPRESSED[coding], coding=coding, most_bytes=len(LARGE))
        with pytest.raises(TooLargeError):
            decompress(COMPRESSED[coding], coding=coding, most_bytes=len(LARGE) - 1)

    def test_members_are_one_body(self) -> None:
        """Empty ones, too; their bytes count together."""
        members = b"".join(gzip.compress(part) for part in (b"ab", b"", LARGE, b"c"))

        assert b"ab" + LARGE + b"c" == decompress(members)
        with pytest.raises(TooLargeError):
            decompress(members, most_bytes=len(LARGE) + 2)

    def test_members_are_bounded_in_number(self) -> None:
        """Three million of them fit into a request, make nothing, and would take ten seconds."""
        with pytest.raises(InputError, match=r"holds more than 10,000 members of gzip"):
            decompress(gzip.compress(b"") * 10_001)
        assert b"" == decompress(gzip.compress(b"") * 10_000)

    @pytest.mark.parametrize(
        ("coding", "whole"),
        [(Coding.GZIP, gzip.compress(b"some spans", mtime=0)), (Coding.DEFLATE, zlib.compress(b"some spans"))],
    )
    def test_that_ends_too_soon_is_refused(self, coding: Coding, whole: bytes) -> None:
        """Wherever it ends: without the checksum, what came could be anything."""
        for end in range(1, len(whole)):
            with pytest.raises(InputError, match=f"The body is {coding.name.lower()} that ends too soon"):
                decompress(whole[:end], coding=coding)

    def test_more_after_its_end_is_refused(self) -> None:
        """A stream of zlib is one; after a member of gzip comes a member."""
        with pytest.raises(InputError, match="holds more after its end"):
            decompress(zlib.compress(b"x") + b"y", coding=Coding.DEFLATE)
        with pytest.raises(InputError, match="is not gzip"):
            decompress(gzip.compress(b"x") + b"yy")

    @pytest.mark.parametrize("coding", Coding)
    def test_a_bomb_takes_little(self, coding: Coding) -> None:
        """No more than what one request may hold, and a step."""
        zeros = zlib.compressobj(9, zlib.DEFLATED, coding)
        bomb = b"".join(zeros.compress(bytes(2**20)) for _ in range(200)) + zeros.flush()
        tracemalloc.start()

        with pytest.raises(TooLargeError):
            decompress(bomb, coding=coding)

        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.2 * MAX_BODY_BYTES

    @given(st.binary(max_size=200), st.sampled_from(Coding))
    def test_any_bytes_are_read_or_refused(self, data: bytes, coding: Coding) -> None:
        """Nothing comes out of what is no such stream."""
        try:
            found = decompress(data, coding=coding)
        except InputError:
            return
        assert found == b"" or len(data) > len(zlib.compress(b""))
