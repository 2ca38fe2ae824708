"""Segments whose indexes of aborted transactions are complete, or not, told as little logs."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.spark.source import transaction_check
from tidelog.spark.source.partition_directory import PartitionDirectory, SealedSegment, Unreadable
from tidelog.spark.source.transaction_check import TransactionCheck
from tidelog.storage.file_names import file_name
from tidelog.storage.segment.transaction_index import Aborted
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import ControlType, Record, write_batch, write_control_batch

COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


def data(offset: int, producer: int) -> bytes:
    return bytes(
        write_batch(
            [Record(offset, 0, None, b"x" * 100)],
            base_offset=offset,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
    )


def marker(offset: int, producer: int, kind: ControlType) -> bytes:
    return bytes(
        write_control_batch(
            kind, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp=0, base_offset=offset
        )
    )


class Log:
    """Segments in a directory; `check` looks at one of them as a direct read does."""

    def __init__(self, path: Path, **segments: list[bytes]) -> None:
        for name, batches in segments.items():
            (path / file_name(int(name[1:]), ".log")).write_bytes(b"".join(batches))
        self.partition_dir = PartitionDirectory(str(path))
        self.transactions = TransactionCheck(self.partition_dir)

    def check(self, segment: int, wanted: range, *known: tuple[int, int, int]) -> None:
        sealed = self.partition_dir.sealed()[segment]
        descriptor = self.partition_dir.open(sealed.base)
        try:
            entries = [Aborted(*entry, 0) for entry in known]
            self.transactions.check(SealedSegment(*sealed), descriptor, 0, wanted, entries)
        finally:
            os.close(descriptor)


def test_an_abort_must_be_known(tmp_path: Path) -> None:
    log = Log(tmp_path, s0=[data(0, 7), data(1, 8), marker(2, 8, COMMIT), marker(3, 7, ABORT)], s4=[])
    log.check(0, range(4), (7, 0, 3))
    with pytest.raises(Unreadable, match="the abort at 3 is in no index"):
        log.check(0, range(4))
    with pytest.raises(Unreadable):
        log.check(0, range(4), (7, 0, 99))
    log.check(0, range(1, 4))


def test_a_marker_without_records_is_in_no_index(tmp_path: Path) -> None:
    log = Log(tmp_path, s0=[data(0, 7), marker(1, 7, COMMIT), marker(2, 7, ABORT), data(3, 8)], s4=[])
    log.check(0, range(3))


def test_the_marker_may_lie_far_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(
        tmp_path,
        s0=[data(0, 7), data(1, 8)],
        s2=[data(2, 7), marker(3, 8, ABORT)],
        s4=[data(4, 7), marker(5, 7, ABORT)],
        s6=[data(6, 7), data(7, 9)],
    )
    with pytest.raises(Unreadable, match="the abort at 3"):
        log.check(0, range(6), (7, 0, 5))
    with pytest.raises(Unreadable, match="the abort at 5"):
        log.check(0, range(6), (8, 1, 3))
    log.check(0, range(6), (7, 0, 5), (8, 1, 3))
    walked = []
    headers = transaction_check._headers

    def noted(descriptor: int, position: int) -> Iterator[tuple[int, BatchHeader]]:
        walked.append(descriptor)
        return headers(descriptor, position)

    monkeypatch.setattr(transaction_check, "_headers", noted)
    log.check(1, range(6), (7, 0, 5), (8, 1, 3))
    assert len(walked) == 1, "it was found before, and is not looked for again"
    log.check(2, range(6), (7, 0, 5))


def test_what_lies_behind_the_range_may_still_be_open(tmp_path: Path) -> None:
    log = Log(tmp_path, s0=[data(0, 7), marker(1, 7, COMMIT), data(2, 8)], s3=[data(3, 8)])
    log.check(0, range(2))
    with pytest.raises(Unreadable, match="without a marker"):
        log.check(0, range(3))


def test_bytes_that_are_no_batch(tmp_path: Path) -> None:
    log = Log(tmp_path, s0=[data(0, 7), b"\xff" * 100], s1=[])
    with pytest.raises(Unreadable, match="no batch at"):
        log.check(0, range(1))
