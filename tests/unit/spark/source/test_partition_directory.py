"""A partition directory seen from beside the broker: what counts as sealed, current and trustworthy."""

import os
from pathlib import Path

import pytest

from tidelog.spark.source.partition_directory import PartitionDirectory, SealedSegment, Unreadable
from tidelog.storage.file_names import file_name
from tidelog.storage.segment.transaction_index import Aborted, TransactionIndex


@pytest.fixture
def partition_dir(tmp_path: Path) -> PartitionDirectory:
    for base in (0, 100, 250):
        (tmp_path / file_name(base, ".log")).write_bytes(b"x" * 10)
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n0\n")
    return PartitionDirectory(str(tmp_path))


def test_the_last_segment_is_not_sealed(partition_dir: PartitionDirectory) -> None:
    assert partition_dir.sealed() == [SealedSegment(0, 100), SealedSegment(100, 250)]


def test_segments_that_wait_for_removal_do_not_count(partition_dir: PartitionDirectory) -> None:
    os.rename(
        f"{partition_dir.path}/{file_name(0, '.log')}", f"{partition_dir.path}/{file_name(0, '.log.deleted')}"
    )
    assert partition_dir.sealed() == [SealedSegment(100, 250)]


def test_a_directory_in_the_middle_of_a_swap_is_not_trusted(partition_dir: PartitionDirectory) -> None:
    Path(partition_dir.path, file_name(100, ".log.swap")).touch()
    with pytest.raises(Unreadable, match="compaction"):
        partition_dir.sealed()


def test_a_directory_that_is_gone_is_not_an_accident() -> None:
    with pytest.raises(Unreadable):
        PartitionDirectory("/nowhere/at/all").sealed()


def test_an_open_file_is_current_until_another_takes_its_name(partition_dir: PartitionDirectory) -> None:
    descriptor = partition_dir.open(100)
    try:
        assert partition_dir.is_current(100, descriptor)
        other = Path(partition_dir.path, "other")
        other.write_bytes(b"compacted")
        other.rename(Path(partition_dir.path, file_name(100, ".log")))
        assert not partition_dir.is_current(100, descriptor)
        os.unlink(f"{partition_dir.path}/{file_name(100, '.log')}")
        assert not partition_dir.is_current(100, descriptor)
    finally:
        os.close(descriptor)


def test_aborted_transactions_come_from_this_segment_and_later_ones(
    partition_dir: PartitionDirectory,
) -> None:
    for base, entries in (
        (0, [Aborted(1, 5, 20, 0)]),
        (100, [Aborted(2, 90, 120, 0), Aborted(3, 130, 140, 0)]),
        (250, [Aborted(4, 101, 260, 0)]),
    ):
        Path(partition_dir.path, file_name(base, ".txnindex")).write_bytes(TransactionIndex(entries).dump())
    assert [entry[:2] for entry in partition_dir.aborted(0, 0)] == [(1, 5), (2, 90), (3, 130), (4, 101)]
    assert [entry[:2] for entry in partition_dir.aborted(100, 121)] == [(3, 130), (4, 101)]
    assert partition_dir.bases_from(100) == [100, 250]
    Path(partition_dir.path, file_name(250, ".txnindex")).write_bytes(b"nonsense")
    with pytest.raises(Unreadable):
        partition_dir.aborted(0, 0)


def test_an_index_that_cannot_be_read_means_the_beginning(partition_dir: PartitionDirectory) -> None:
    assert partition_dir.position_before(0, 50, 10) == 0
    Path(partition_dir.path, file_name(0, ".index")).write_bytes(b"odd")
    assert partition_dir.position_before(0, 50, 10) == 0
