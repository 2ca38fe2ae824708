"""A file or directory that the disk cannot look up is an error, and does not pass for one that is gone."""

from pathlib import Path

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.ports import read_file
from tidelog.storage.log_dir.partition_dir import listing


def test_the_whole_file_or_none_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "vote").write_bytes(b"term 7")
    assert read_file(PosixDisk(), str(tmp_path / "vote")) == b"term 7"
    assert read_file(PosixDisk(), str(tmp_path / "gone")) is None
    assert read_file(PosixDisk(), str(tmp_path / "gone" / "vote")) is None


def test_a_disk_that_cannot_say_whether_it_is_there_does_not_pass_for_an_empty_one(tmp_path: Path) -> None:
    """`exists` says no of a file whose inode cannot be read: a vote, a journal would be forgotten."""
    (tmp_path / "vote").symlink_to("vote")
    assert not PosixDisk().exists(str(tmp_path / "vote"))
    with pytest.raises(OSError, match="symbolic links"):
        read_file(PosixDisk(), str(tmp_path / "vote"))


def test_a_directory_that_the_disk_cannot_look_up_does_not_pass_for_one_that_is_gone(tmp_path: Path) -> None:
    """A start would begin the partition anew, and void what the journal has of it."""
    (tmp_path / "orders-0").symlink_to("orders-0")
    with pytest.raises(OSError, match="symbolic links"):
        listing(PosixDisk(), str(tmp_path))
    (tmp_path / "orders-0").unlink()
    (tmp_path / "orders-1").touch()
    (tmp_path / "orders-2").mkdir()
    assert [found.partition for found in listing(PosixDisk(), str(tmp_path))] == [2]
    assert not PosixDisk().is_dir(str(tmp_path / "orders-1" / "below"))
