"""A small file that is not there is None; one of which nothing is known is an error."""

from pathlib import Path

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.ports import read_file


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
