"""How fast a log is compacted: megabytes (before compression) and records per second of CPU time.

Run it with `python -m benches.compaction [megabytes]`. In the first log half of the records are outdated; in
the second none is, so that it is read twice and written as it was.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator

from tests.rigs import log as log_rig
from tests.rigs.log import NOW_MS, append, compact
from tidelog.base.disk import PosixDisk
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.wire.compression import Codec

BATCH_BYTES = 16 * 1024
KEY_BYTES = 21
CONFIG = LogConfig(compact=True, delete=False, segment_bytes=32 << 20)


def keys(count: int, *, duplicates: bool) -> Iterator[bytes]:
    """Each key twice, half of the log apart; or each once."""
    half = count // 2
    for number in range(count):
        yield b"customer-%012d" % (number % half if duplicates else number)


def fill(directory: str, megabytes: int, value_bytes: int, codec: int, *, duplicates: bool) -> PartitionLog:
    log = PartitionLog.open(PosixDisk(), directory, CONFIG, now_ms=NOW_MS)
    row = b'{"user": 7919, "event": "click", "at": "2024-02-29T12:00:00Z"} ' * (value_bytes // 60 + 1)
    per_batch = BATCH_BYTES // (value_bytes + 30)
    count = (megabytes << 20) // (value_bytes + 30) // per_batch * per_batch
    batch: list[tuple[bytes | None, bytes | None]] = []
    for key in keys(count, duplicates=duplicates):
        batch.append((key, row[:value_bytes]))
        if len(batch) == per_batch:
            append(log, batch, codec=codec)
            batch = []
    log.roll(NOW_MS)
    return log


def measure(megabytes: int, value_bytes: int, codec: int, *, duplicates: bool) -> str:
    folder = tempfile.mkdtemp(prefix="tidelog-bench-")
    try:
        log = fill(f"{folder}/bench-0", megabytes, value_bytes, codec, duplicates=duplicates)
        count = log.end
        start = time.process_time()
        compact(log, key_bytes_max=1 << 30)
        seconds = time.process_time() - start
        kept = sum(header.record_count for header, _ in log_rig.batches(log))
        if kept != (count // 2 if duplicates else count):
            raise SystemExit(f"{kept} of {count} records are left")
        megabytes_read = count * (value_bytes + KEY_BYTES) / 1e6
        rates = f"{megabytes_read / seconds:8.1f} {count / seconds / 1e3:8.0f}"
        return f"{rates} {seconds / count * 1e6:8.2f}"
    finally:
        shutil.rmtree(folder)


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 48
    print("                    half outdated             nothing outdated")
    print("                    MB/s  krec/s   us/rec      MB/s  krec/s   us/rec")
    for value_bytes in (1000, 100):
        for codec in Codec:
            figures = [measure(megabytes, value_bytes, codec, duplicates=flag) for flag in (True, False)]
            print(f"{value_bytes:5} bytes {codec.name.lower():7} {figures[0]}  {figures[1]}", flush=True)


if __name__ == "__main__":
    main()
