"""Storage on this machine: append and read per call, clean start of many partitions, recovery speed.

    python -m benches.storage [folder]

The folder should lie on the disk to be measured; a temporary one is used otherwise.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable

from tidelog.base.disk import PosixDisk
from tidelog.storage.admission import admit
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.warm import WarmSegments
from tidelog.wire.batch import read_header
from tidelog.wire.record import Record, write_batch

APPENDS = 20_000
PARTITIONS = 1_000
RECOVERY_BYTES = 512 << 20


def microseconds(rounds: int, work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(rounds // 5):
            work()
        best = min(best, time.perf_counter() - start)
    return best / (rounds // 5) * 1e6


def batch_of(size: int, producer_id: int = -1) -> memoryview:
    epoch, sequence = (-1, -1) if producer_id < 0 else (0, 0)
    record = Record(0, 1_700_000_000_000, b"key", os.urandom(size - 80))
    batch = write_batch([record], producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    return memoryview(batch)


def append_and_read(folder: str) -> None:
    disk = PosixDisk()
    config = LogConfig(segment_bytes=2**31 - 1)
    records = batch_of(16 << 10)
    now_ms = 1_700_000_000_000
    bare = disk.open(f"{folder}/bare", create=True)
    position = 0

    def write_bare() -> None:
        nonlocal position
        bare.write_at(position, [records])
        position += len(records)

    write = microseconds(APPENDS, write_bare)
    os.remove(f"{folder}/bare")
    log = PartitionLog.open(disk, f"{folder}/append-0", config, now_ms=now_ms)
    batches = [(0, read_header(records))]
    append = microseconds(APPENDS, lambda: log.append(records, batches, leader_epoch=1, now_ms=now_ms))
    print(f"append 16 KiB: {append:.1f} us, of which the write {write:.1f} us, ours {append - write:.1f} us")

    records[:8] = bytes(8)
    print(f"admit 16 KiB: {microseconds(APPENDS, lambda: admit(records, config, now_ms=now_ms)):.1f} us")

    sequence = 0

    def append_idempotent() -> None:
        nonlocal sequence
        header = read_header(records)._replace(producer_id=7, producer_epoch=0, base_sequence=sequence)
        sequence += 1
        log.append(records, [(0, header)], leader_epoch=1, now_ms=now_ms)

    with_state = microseconds(APPENDS, append_idempotent)
    print(f"append 16 KiB, idempotent: {with_state:.1f} us (1.5 us of it this bench's own)")

    tail = log.end - 1
    print(
        f"read the last batch: {microseconds(APPENDS, lambda: log.read(tail, 1 << 20, end=log.end)):.2f} us"
    )
    middle = log.end // 2
    print(
        f"read 1 MiB anywhere: {microseconds(2_000, lambda: log.read(middle, 1 << 20, end=log.end)):.1f} us"
    )
    log.roll(now_ms)
    print(f"read 1 MiB, sealed: {microseconds(2_000, lambda: log.read(middle, 1 << 20, end=log.end)):.1f} us")
    log.close(clean=False)
    shutil.rmtree(f"{folder}/append-0")


def clean_start(folder: str) -> None:
    disk, config, now_ms = PosixDisk(), LogConfig(), 1_700_000_000_000
    for number in range(PARTITIONS):
        log = PartitionLog.open(disk, f"{folder}/many-{number}", config, now_ms=now_ms)
        for sequence in range(20):
            records = batch_of(2_000, producer_id=3)
            header = read_header(records)._replace(base_sequence=sequence)
            log.append(records, [(0, header)], leader_epoch=1, now_ms=now_ms)
        log.close()
    start = time.perf_counter()
    warm = WarmSegments()
    logs = [
        PartitionLog.open(disk, f"{folder}/many-{number}", config, now_ms=now_ms, clean=True, warm=warm)
        for number in range(PARTITIONS)
    ]
    took = time.perf_counter() - start
    print(f"clean start of {len(logs)} partitions: {took:.3f} s ({took / len(logs) * 1e6:.0f} us each)")


def recovery(folder: str) -> None:
    disk, config, now_ms = PosixDisk(), LogConfig(), 1_700_000_000_000
    log = PartitionLog.open(disk, f"{folder}/recover-0", config, now_ms=now_ms)
    records = batch_of(16 << 10)
    batches = [(0, read_header(records))]
    while log.size_bytes < RECOVERY_BYTES:
        log.append(records, batches, leader_epoch=1, now_ms=now_ms)
        if log.end % 1_000 == 0 and (flush := log.begin_flush()) is not None:
            flush.run()
            log.finish_flush(flush)
    for recovery_point in (log.end - 100, 0):
        start = time.perf_counter()
        again = PartitionLog.open(
            disk, f"{folder}/recover-0", config, now_ms=now_ms, recovery_point=recovery_point
        )
        took = time.perf_counter() - start
        scanned = again.recovery.scanned_bytes
        print(
            f"start after kill -9, {RECOVERY_BYTES >> 20} MiB, {scanned / 2**20:.0f} MiB of it not flushed: "
            f"{took:.3f} s ({scanned / took / 2**20:.0f} MiB/s)"
        )


def main() -> None:
    parent = sys.argv[1] if len(sys.argv) > 1 else None
    folder = tempfile.mkdtemp(dir=parent)
    try:
        append_and_read(folder)
        clean_start(folder)
        recovery(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
