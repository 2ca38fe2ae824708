"""Both kinds of storage keep to one contract; Arrow's local file system stands for the remote ones."""

import pytest
from pyarrow.fs import LocalFileSystem

from tidelog.spark.lake.storage import ArrowStorage, LocalStorage, is_local, local_path, open_storage


@pytest.fixture(params=["local", "arrow"])
def storage(request, tmp_path):
    return (
        LocalStorage(tmp_path) if request.param == "local" else ArrowStorage(LocalFileSystem(), str(tmp_path))
    )


def test_files_are_written_read_moved_and_deleted(storage):
    with storage.create("a/b/one") as file:
        file.write(b"123")
    storage.write("a/two", b"4")
    assert storage.files("a") == ["a/b/one", "a/two"]
    assert storage.directories("a") == ["b"]
    assert storage.size("a/b/one") == 3
    storage.move("a/b/one", "c/d/moved")
    assert storage.read("c/d/moved") == b"123"
    assert not storage.exists("a/b/one")
    storage.delete("a/two")
    storage.delete("a/two")
    assert storage.read("a/two") is None
    storage.delete_directory("c")
    storage.delete_directory("c")
    assert storage.files("c") == []


def test_nothing_is_below_a_directory_that_is_not_there(storage):
    assert storage.files("no") == []
    assert storage.directories("no") == []


def test_only_the_first_writes_where_there_was_none(storage):
    assert storage.write_first("x/y", b"1")
    assert not storage.write_first("x/y", b"2")
    assert storage.read("x/y") == b"1"
    assert storage.files("x") == ["x/y"]


def test_addresses():
    assert is_local("/a")
    assert is_local("file:///a")
    assert not is_local("s3://a/b")
    assert str(local_path("file:///a%20b")) == "/a b"
    assert isinstance(open_storage("file:///tmp/x", "delta", {}), LocalStorage)
