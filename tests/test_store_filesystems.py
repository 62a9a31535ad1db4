"""
What file system a store lies on, by the kernel's list of mounts.
"""

from pathlib import Path

import pytest

from toolspan.errors import StoreError
from toolspan.store.filesystems import NETWORK_TYPES, network_file_system, refuse_network

#: As on a machine with a root disk, a share and a local disk below it; the order is not that of the paths.
MOUNTS = r"""
31 28 0:26 / /srv/share/cache rw,relatime shared:9 - ext4 /dev/sdc rw
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
28 27 0:40 /export /srv/share rw,relatime shared:7 master:3 - nfs4 server:/export rw,vers=4.2
29 27 0:41 / /srv/my\040share rw - cifs //server/my\040share rw
30 27 0:42 / /srv/back\134slash rw - fuse.sshfs me@server: rw
"""


class TestNetworkFileSystem:
    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("/x.duckdb", None),
            ("/home/me/x.duckdb", None),
            ("/srv/share/x.duckdb", "nfs4"),
            ("/srv/share/deep/er/x.duckdb", "nfs4"),
            ("/srv/share", "nfs4"),
            ("/srv/shared/x.duckdb", None),
            ("/srv/share/cache/x.duckdb", None),
            ("/srv/share/../x.duckdb", None),
            ("/srv/my share/x.duckdb", "cifs"),
            (r"/srv/my\040share/x.duckdb", None),
            (r"/srv/back\slash/x.duckdb", "fuse.sshfs"),
        ],
    )
    def test_the_nearest_mount_above_a_path_counts(self, path: str, expected: str | None) -> None:
        """
        Whole names of folders, whatever characters are in them.
        """
        assert expected == network_file_system(Path(path), mounts=MOUNTS)

    def test_of_two_mounts_over_one_point_the_last_counts(self) -> None:
        """
        It hides the first.
        """
        local = "40 28 0:50 / /srv/share rw - xfs /dev/sdd rw\n"
        remote = "41 40 0:51 / /srv/share rw - ceph mon:/ rw\n"

        assert network_file_system(Path("/srv/share/x.duckdb"), mounts=MOUNTS + local) is None
        assert network_file_system(Path("/srv/share/x.duckdb"), mounts=MOUNTS + local + remote) == "ceph"

    def test_of_two_mounts_said_to_be_on_one_the_last_counts(self) -> None:
        """
        As sandboxes write it.
        """
        mounts = "1 0 0:1 / / rw - nfs4 a:/ rw\n2 1 0:2 / /data rw - 9p b rw\n3 1 0:3 / /data rw - tmpfs c rw\n"

        assert network_file_system(Path("/data/x.duckdb"), mounts=mounts) is None

    def test_a_mount_over_a_folder_hides_the_mounts_in_it(self) -> None:
        """
        The longest mount point is then none that the path leads through.
        """
        over = "50 27 0:60 / /srv rw - btrfs /dev/sde rw\n"

        assert network_file_system(Path("/srv/share/x.duckdb"), mounts=MOUNTS + over) is None

    def test_a_root_may_be_mounted_on_itself_or_on_nothing_seen(self) -> None:
        """
        In a container, and at the start of a system.
        """
        on_itself = "1 1 0:1 / / rw - 9p root rw\n2 1 0:2 / /data rw - ext4 /dev/vda rw\n"
        below_none = "7 3 0:1 / /data rw - 9p host rw\n"

        assert network_file_system(Path("/x.duckdb"), mounts=on_itself) == "9p"
        assert network_file_system(Path("/data/x.duckdb"), mounts=on_itself) is None
        assert network_file_system(Path("/data/x.duckdb"), mounts=below_none) == "9p"
        assert network_file_system(Path("/x.duckdb"), mounts=below_none) is None

    @pytest.mark.parametrize("kind", sorted(NETWORK_TYPES))
    def test_each_type_is_known_by_its_name(self, kind: str) -> None:
        """
        And by no part of it.
        """
        here, near = (f"1 0 0:1 / / rw - {name} source rw\n" for name in (kind, f"{kind}x"))

        assert (kind, None) == tuple(network_file_system(Path("/x"), mounts=mounts) for mounts in (here, near))

    @pytest.mark.parametrize("mounts", ["", "\n\n", "no mounts at all\n", "1 0 0:1 / / rw nfs4 server:/ rw\n", "1 0\n"])
    def test_what_cannot_be_read_is_taken_for_local(self, mounts: str) -> None:
        """
        Another system, or a newer kernel.
        """
        assert network_file_system(Path("/x.duckdb"), mounts=mounts) is None

    def test_a_link_is_followed(self, tmp_path: Path) -> None:
        """
        What counts is where the bytes go.
        """
        target, link = tmp_path / "far", tmp_path / "near"
        target.mkdir()
        link.symlink_to(target)
        mounts = f"1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / {target.resolve()} rw - lustre host:/ rw\n"

        assert network_file_system(link / "x.duckdb", mounts=mounts) == "lustre"

    def test_this_process_has_its_own_mounts(self) -> None:
        """
        Where nothing is given; what the kernel shows of itself is on no network.
        """
        assert network_file_system(Path("/proc/self/mountinfo")) is None

    def test_a_system_without_a_list_of_mounts_is_taken_for_local(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        There is none outside of Linux.
        """

        def fail(path: Path) -> bytes:
            raise FileNotFoundError(path)

        monkeypatch.setattr(Path, "read_bytes", fail)

        assert network_file_system(Path("/x.duckdb")) is None


class TestRefuseNetwork:
    def test_a_store_on_a_share_is_refused_with_the_remedy(self) -> None:
        """
        In one line.
        """
        with pytest.raises(StoreError) as caught:
            refuse_network(Path("/srv/share/x.duckdb"), mounts=MOUNTS)

        expected = (
            "/srv/share/x.duckdb lies on nfs4, a network file system, where commits get lost; put it on a local disk, "
            "or run a collector (toolspan collect) where there is one and name its http:// address instead"
        )
        assert expected == str(caught.value)

    def test_a_store_on_a_local_disk_passes(self) -> None:
        """
        So does one of which nothing is known.
        """
        refuse_network(Path("/home/me/x.duckdb"), mounts=MOUNTS)
        refuse_network(Path("/home/me/x.duckdb"), mounts="")
