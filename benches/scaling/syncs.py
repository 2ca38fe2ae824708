"""Syncs a second of processes that each write a file of their own on one disk, as cores do their journals."""

import multiprocessing
import os
import tempfile
import time

from benches.rig.broker_process import work_folder
from benches.rig.report import show

WRITERS = (1, 2, 4, 8, 16)
SECONDS, SIZE = 3.0, 16 * 1024


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-", dir=work_folder()) as folder:
        for writers in WRITERS:
            with multiprocessing.get_context("fork").Pool(writers) as pool:
                counts = pool.map(_write, [f"{folder}/{number}" for number in range(writers)], 1)
            rate = sum(counts) / SECONDS
            name = f"{writers} process{'es' * (writers > 1)} that sync 16 KiB each time"
            show(f"{name}: all", rate, "syncs/s")
            show(f"{name}: each sync", writers / rate * 1000, "ms")


def _write(path: str) -> int:
    """Within room that is allocated beforehand, as the journal is."""
    block, count = os.urandom(SIZE), 0
    with open(path, "w+b", buffering=0) as file:
        file.write(bytes(64 * SIZE))
        os.fsync(file.fileno())
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            os.pwrite(file.fileno(), block, count % 64 * SIZE)
            os.fdatasync(file.fileno())
            count += 1
    return count
