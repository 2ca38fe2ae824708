"""What batches cost: microseconds per 16 KiB batch for the header check, per record for reading and writing.

Run it with `python -m benches.batches`; each number is the best of several rounds, so noise only adds.
"""

import timeit
from collections.abc import Callable

from crc32c import crc32c

from tidelog.wire.batch import check_batches, iter_batches, patch_base, patch_timestamp
from tidelog.wire.compression import Codec, compress, decompress
from tidelog.wire.record import Record, read_records, walk_records, write_batch

NOW = 1_700_000_000_000
BATCH_BYTES = 16 * 1024


def microseconds(call: Callable[[], object]) -> float:
    timer = timeit.Timer(call)
    loops = max(1, int(timer.autorange()[0] / 20))
    return min(timer.repeat(repeat=15, number=loops)) / loops * 1e6


def records(value_bytes: int, headers: list[tuple[str, bytes | None]]) -> list[Record]:
    row = b'{"user": 7919, "event": "click", "at": "2024-02-29T12:00:00Z"} ' * (value_bytes // 60 + 1)
    each = value_bytes + 20 + 24 * len(headers)
    return [
        Record(offset, NOW + 3 * offset, b"key-%06d" % offset, row[:value_bytes], headers)
        for offset in range(BATCH_BYTES // each)
    ]


def main() -> None:
    batch = memoryview(write_batch(records(1000, [])))
    print(f"one batch of {len(batch)} bytes")
    whole = microseconds(lambda: check_batches(batch))
    crc = microseconds(lambda: crc32c(batch[21:]))
    print(f"  check_batches    {whole:8.2f} us, of which the CRC is {crc:.2f}")
    print(f"  iter_batches     {microseconds(lambda: list(iter_batches(batch))):8.2f} us")
    print(f"  patch_base       {microseconds(lambda: patch_base(batch, 0, 0, 7)):8.2f} us")
    print(f"  patch_timestamp  {microseconds(lambda: patch_timestamp(batch, 0, 0, NOW)):8.2f} us")

    print("per record             read     walk    write  us")
    for name, given in {
        "1000 bytes": records(1000, []),
        "100 bytes": records(100, []),
        "100 bytes, 2 headers": records(100, [("trace", bytes(16)), ("none", None)]),
    }.items():
        data = write_batch(given)
        calls = (
            lambda data=data: read_records(data),
            lambda data=data: walk_records(data),
            lambda given=given: write_batch(given),
        )
        print(f"  {name:20}" + " ".join(f"{microseconds(call) / len(given):8.2f}" for call in calls))

    body = bytes(write_batch(records(100, [])))[61:]
    print(f"per {len(body)} bytes of records   compress  decompress  us   ratio")
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD):
        packed = compress(codec, body)
        shrink = microseconds(lambda codec=codec: compress(codec, body))
        grow = microseconds(lambda codec=codec, packed=packed: decompress(codec, packed, 1 << 27))
        print(f"  {codec.name.lower():28} {shrink:8.1f} {grow:11.1f} {len(body) / len(packed):10.1f}")


if __name__ == "__main__":
    main()
