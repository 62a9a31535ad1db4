"""
Which file system a store lies on, and why some are refused.

A lock of a network file system is often known to one machine only, or to none; and each machine has its own idea of
what a file holds, for seconds. DuckDB reads and writes pages in place and trusts both, so a store there loses commits
without an error. What is not known to be a network file system is taken to be local.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from toolspan.errors import StoreError
from toolspan.framing.source import display_name

#: As Linux names their types. Those of clusters lock between machines if they are set up to, which cannot be seen here.
NETWORK_TYPES: Final = frozenset(
    {
        # shared by a server
        "9p",
        "afs",
        "cifs",
        "coda",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
        # shared by a cluster
        "beegfs",
        "beegfs_nodev",
        "ceph",
        "glusterfs",
        "gpfs",
        "lustre",
        "orangefs",
        "panfs",
        "wekafs",
        # the same, by way of FUSE
        "fuse.ceph",
        "fuse.ceph-fuse",
        "fuse.cephfs",
        "fuse.glusterfs",
        "fuse.juicefs",
        "fuse.mfs",
        "fuse.seaweedfs",
        "fuse.sshfs",
        # objects in a bucket, each written whole, without locks
        "fuse.blobfuse",
        "fuse.blobfuse2",
        "fuse.gcsfuse",
        "fuse.geesefs",
        "fuse.goofys",
        "fuse.mount-s3",
        "fuse.mountpoint-s3",
        "fuse.rclone",
        "fuse.s3fs",
    }
)

_MOUNTS: Final = Path("/proc/self/mountinfo")

#: number, parent, device, root, point, options and what more there is, a dash, type, source, options
_LINE: Final = re.compile(r"(?P<number>\d+) (?P<parent>\d+) \S+ \S+ (?P<point>\S+) .*?- (?P<kind>\S+) ")

#: Blank, tab, line feed and backslash in a path stand as their number.
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


class _Mount(NamedTuple):
    number: int
    parent: int
    point: Path
    kind: str


def refuse_network(path: Path, *, mounts: str | None = None) -> None:
    """
    Passes where *path* is on a local disk, or on what is not known.

    Raises:
        StoreError: It lies on a network file system.
    """
    if (kind := network_file_system(path, mounts=mounts)) is not None:
        raise StoreError(
            f"{display_name(str(path))} lies on {kind}, a network file system, where commits get lost; put it on a "
            "local disk, or run a collector (toolspan collect) where there is one and name its http:// address instead"
        )


def network_file_system(path: Path, *, mounts: str | None = None) -> str | None:
    """
    The type of the network file system that holds *path*, such as `nfs4`; None where it is local or not known.

    *mounts* is the text of `/proc/self/mountinfo`, by default as this process sees it.
    """
    real = Path(os.path.realpath(path))
    text = _read_mounts() if mounts is None else mounts
    kind = _innermost([mount for mount in _parse(text) if real.is_relative_to(mount.point)])
    return kind if kind in NETWORK_TYPES else None


def _read_mounts() -> str:
    try:
        return os.fsdecode(_MOUNTS.read_bytes())
    except OSError:
        return ""  # no Linux, or a sandbox


def _parse(text: str) -> Iterator[_Mount]:
    for line in text.split("\n"):
        if match := _LINE.match(line):
            point = _ESCAPE.sub(lambda escape: chr(int(escape[1], 8)), match["point"])
            yield _Mount(int(match["number"]), int(match["parent"]), Path(point), match["kind"])


def _innermost(mounts: Sequence[_Mount]) -> str | None:
    """
    The type of the mount in which a path ends that leads through *mounts*; None where there are none.

    Walked as the kernel does, since each says on which other it was mounted: the longest mount point would be wrong
    where something was mounted over a directory above it later.
    """
    numbers = {mount.number for mount in mounts}
    # The first was mounted on what this process does not see, or on itself.
    candidates = [mount for mount in mounts if mount.parent not in numbers or mount.parent == mount.number]
    kind = None
    while candidates:
        # Of several at one point the last.
        here = min(reversed(candidates), key=lambda mount: len(mount.point.parts))
        kind = here.kind
        mounts = [mount for mount in mounts if mount.number != here.number]
        candidates = [mount for mount in mounts if mount.parent == here.number]
    return kind
