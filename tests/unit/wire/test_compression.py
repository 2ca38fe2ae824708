import gzip
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest
import snappy
import zstandard
from aiokafka import codec as aiokafka_codec
from kafka import codec as kafka_codec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.wire import xerial
from tidelog.wire.compression import Codec, compress, decompress

MIB = 1024 * 1024
BOMB_LIMIT = 8 * MIB
TEXT = b"".join(b'{"user": %d, "event": "click"}' % (index * 7919 % 1000) for index in range(9000))
SAMPLES = {"empty": b"", "byte": b"x", "text": TEXT, "noise": os.urandom(100_000), "zeros": bytes(300_000)}
COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]

FOREIGN_DECODERS = {
    "gzip": (Codec.GZIP, gzip.decompress),
    "kafka-python gzip": (Codec.GZIP, kafka_codec.gzip_decode),
    "kafka-python snappy": (Codec.SNAPPY, kafka_codec.snappy_decode),
    "aiokafka snappy": (Codec.SNAPPY, aiokafka_codec.snappy_decode),
    "lz4": (Codec.LZ4, lz4.frame.decompress),
    "kafka-python lz4": (Codec.LZ4, kafka_codec.lz4_decode),
    "zstandard": (Codec.ZSTD, lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
    "kafka-python zstd": (Codec.ZSTD, kafka_codec.zstd_decode),
}
FOREIGN_ENCODERS = {
    "gzip": (Codec.GZIP, gzip.compress),
    "gzip level 1": (Codec.GZIP, lambda data: gzip.compress(data, 1)),
    "gzip in members": (Codec.GZIP, lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
    "raw snappy": (Codec.SNAPPY, snappy.compress),
    "kafka-python snappy": (Codec.SNAPPY, kafka_codec.snappy_encode),
    "aiokafka snappy": (Codec.SNAPPY, aiokafka_codec.snappy_encode),
    "kafka-python raw snappy": (
        Codec.SNAPPY,
        lambda data: kafka_codec.snappy_encode(data, xerial_compatible=False),
    ),
    "lz4 linked": (Codec.LZ4, lambda data: lz4.frame.compress(data, block_linked=True, block_size=4)),
    "lz4 independent": (Codec.LZ4, lambda data: lz4.frame.compress(data, block_linked=False)),
    "lz4 big blocks": (Codec.LZ4, lambda data: lz4.frame.compress(data, block_size=7)),
    "lz4 with checksums": (
        Codec.LZ4,
        lambda data: lz4.frame.compress(data, content_checksum=True, block_checksum=True, store_size=True),
    ),
    "lz4 without a size": (Codec.LZ4, lambda data: lz4.frame.compress(data, store_size=False)),
    "kafka-python lz4": (Codec.LZ4, kafka_codec.lz4_encode),
    "zstandard": (Codec.ZSTD, zstandard.ZstdCompressor().compress),
    "zstd without a size": (Codec.ZSTD, zstandard.ZstdCompressor(write_content_size=False).compress),
    "zstd with a checksum": (Codec.ZSTD, zstandard.ZstdCompressor(write_checksum=True).compress),
    "zstd in frames": (
        Codec.ZSTD,
        lambda data: b"".join(
            zstandard.ZstdCompressor(write_content_size=False).compress(part) for part in (data[:9], data[9:])
        ),
    ),
    "zstd level 19, streamed": (
        Codec.ZSTD,
        lambda data: (
            (stream := zstandard.ZstdCompressor(level=19).compressobj()).compress(data) + stream.flush()
        ),
    ),
}


def refusal(codec: int, data: bytes, limit: int = MIB) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        decompress(codec, data, limit)
    return caught.value.code


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("codec", Codec)
def test_round_trip_at_the_very_limit(codec: Codec, sample: bytes) -> None:
    packed = compress(codec, memoryview(bytearray(sample)))
    assert type(packed) is bytes
    unpacked = decompress(codec, memoryview(b"-" + packed)[1:], len(sample))
    assert type(unpacked) is bytes
    assert unpacked == sample
    if sample:
        assert refusal(codec, packed, len(sample) - 1) is ErrorCode.MESSAGE_TOO_LARGE


# An empty snappy stream has no block, which the Python clients don't take; empty batches are not compressed.
@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("reader", FOREIGN_DECODERS)
def test_others_read_ours(reader: str, sample: str) -> None:
    codec, foreign = FOREIGN_DECODERS[reader]
    data = SAMPLES[sample]
    if data or codec is not Codec.SNAPPY:
        assert bytes(foreign(compress(codec, data))) == data


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("writer", FOREIGN_ENCODERS)
def test_we_read_others(writer: str, sample: bytes) -> None:
    codec, foreign = FOREIGN_ENCODERS[writer]
    assert decompress(codec, bytes(foreign(sample)), len(sample)) == sample


@pytest.mark.parametrize(
    ("codec", "levels"), [(Codec.GZIP, (1, 9)), (Codec.LZ4, (1, 17)), (Codec.ZSTD, (-7, 22))]
)
def test_levels_matter(codec: Codec, levels: tuple[int, int]) -> None:
    low, high = (compress(codec, TEXT, level) for level in levels)
    assert len(high) < len(low)
    assert decompress(codec, low, len(TEXT)) == decompress(codec, high, len(TEXT)) == TEXT


def test_lz4_blocks_are_independent_for_java() -> None:
    assert lz4.frame.get_frame_info(compress(Codec.LZ4, TEXT))["block_linked"] is False


def test_an_unknown_codec_is_refused() -> None:
    assert refusal(5, b"") is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    with pytest.raises(KafkaError):
        compress(5, b"")


@pytest.mark.parametrize("codec", COMPRESSED)
def test_every_truncation_is_corrupt(codec: Codec) -> None:
    packed = compress(codec, TEXT[:300])
    # A xerial stream may end after any block, so also after its header.
    whole = {len(xerial.HEADER)} if codec is Codec.SNAPPY else set()
    for length in set(range(len(packed))) - whole:
        assert refusal(codec, packed[:length]) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("garbage", [b"\0", b"garbage after the end"])
def test_bytes_after_the_end_are_corrupt(codec: Codec, garbage: bytes) -> None:
    assert refusal(codec, compress(codec, TEXT) + garbage) is ErrorCode.CORRUPT_MESSAGE


def resident_bytes(kind: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(kind))


def gzip_bomb(total: int) -> bytes:
    stream = zlib.compressobj(wbits=31)
    return b"".join(stream.compress(bytes(MIB)) for _ in range(total // MIB)) + stream.flush()


def raw_snappy_bomb(total: int) -> bytes:
    """One literal byte, then copies of 64 bytes from one byte back."""
    size = bytes([*(total >> shift & 127 | 128 for shift in (0, 7, 14, 21)), total >> 28])
    return size + b"\x00x" + b"\xfe\x01\x00" * (total // 64 - 1) + b"\xfa\x01\x00"


def xerial_bomb(total: int) -> bytes:
    block = snappy.compress(bytes(MIB))
    return xerial.HEADER + (struct.pack(">i", len(block)) + block) * (total // MIB)


def zstd_bomb(total: int) -> bytes:
    """One frame without a content size, made of blocks that say: this byte, 128 KiB times."""
    block = struct.pack("<I", 1 << 1 | 128 * 1024 << 3)[:3] + b"x"
    last = struct.pack("<I", 1 | 1 << 1 | 128 * 1024 << 3)[:3] + b"x"
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * (total // (128 * 1024) - 1) + last


BOMBS = {
    "gzip": (Codec.GZIP, lambda: gzip_bomb(128 * MIB)),
    "gzip in members": (Codec.GZIP, lambda: gzip_bomb(MIB) * 1024),
    "raw snappy": (Codec.SNAPPY, lambda: raw_snappy_bomb(128 * MIB)),
    "snappy": (Codec.SNAPPY, lambda: xerial_bomb(1024 * MIB)),
    "lz4": (Codec.LZ4, lambda: lz4.frame.compress(bytes(16 * MIB), block_size=7) * 64),
    "zstd": (Codec.ZSTD, lambda: zstd_bomb(1024 * MIB)),
    "zstd that declares its size": (Codec.ZSTD, lambda: zstandard.compress(bytes(16 * MIB)) * 64),
}


def peak_of(bomb: str) -> int:
    """How much the memory of this process grew while it refused the bomb."""
    codec, build = BOMBS[bomb]
    packed = build()
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # forget the peak so far
    before = resident_bytes("VmRSS")
    assert refusal(codec, packed, BOMB_LIMIT) is ErrorCode.MESSAGE_TOO_LARGE
    return resident_bytes("VmHWM") - before


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of resident memory from /proc")
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_costs_no_more_than_the_limit_and_a_chunk(bomb: str) -> None:
    """In a process of its own: here, other tests' garbage comes and goes."""
    told = subprocess.run([sys.executable, __file__, bomb], capture_output=True, text=True, check=True)
    # The largest lz4 block is 4 MiB, and its decoder holds some of them.
    assert int(told.stdout) < BOMB_LIMIT + 16 * MIB


@pytest.mark.parametrize(
    ("codec", "bomb"),
    [
        (Codec.GZIP, gzip_bomb),
        (Codec.SNAPPY, raw_snappy_bomb),
        (Codec.SNAPPY, xerial_bomb),
        (Codec.ZSTD, zstd_bomb),
    ],
)
def test_small_bombs_are_sound(codec: Codec, bomb: Callable[[int], bytes]) -> None:
    assert len(set(decompress(codec, bomb(2 * MIB), 2 * MIB))) == 1


@pytest.mark.parametrize("declared", [2**63, 2**40, 200_000, 10])
def test_a_zstd_frame_that_lies_about_its_size_is_corrupt(declared: int) -> None:
    honest = zstandard.ZstdCompressor(write_content_size=False).compress(TEXT[:100_000])
    position = 6  # magic, descriptor, window
    lying = (
        honest[:4]
        + bytes([honest[4] | 0xC0])
        + honest[5:position]
        + struct.pack("<Q", declared)
        + honest[position:]
    )
    assert honest[4] & 0x20 == 0
    assert refusal(Codec.ZSTD, lying) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", ErrorCode.CORRUPT_MESSAGE),
        (b"\xff\xff\xff\xff\x0f", ErrorCode.MESSAGE_TOO_LARGE),
        (b"\xff\xff\xff\xff\xff\xff", ErrorCode.CORRUPT_MESSAGE),
        (b"\x80\x80\x20\x00", ErrorCode.CORRUPT_MESSAGE),
        (xerial.MAGIC, ErrorCode.CORRUPT_MESSAGE),
        (xerial.HEADER + b"\0\0", ErrorCode.CORRUPT_MESSAGE),
        (xerial.HEADER + struct.pack(">i", 0), ErrorCode.CORRUPT_MESSAGE),
        (xerial.HEADER + struct.pack(">i", -5) + b"x" * 9, ErrorCode.CORRUPT_MESSAGE),
        (xerial.HEADER + struct.pack(">i", 2**31 - 1) + b"x" * 9, ErrorCode.CORRUPT_MESSAGE),
        (xerial.HEADER + struct.pack(">i", 5) + b"\xff\xff\xff\xff\x0f", ErrorCode.MESSAGE_TOO_LARGE),
    ],
)
def test_snappy_that_lies(body: bytes, code: ErrorCode) -> None:
    assert refusal(Codec.SNAPPY, body) is code


def test_the_growth_that_snappy_is_held_to_is_beyond_what_it_can_reach() -> None:
    packed = bytes(cramjam.snappy.compress_raw(bytes(MIB)))
    assert len(packed) * 20 < MIB < len(packed) * 22


def test_thousands_of_gzip_members_are_not_copied_thousands_of_times() -> None:
    member = gzip.compress(b"ab")
    assert decompress(Codec.GZIP, member * 20_000, 40_000) == b"ab" * 20_000


if __name__ == "__main__":
    print(peak_of(sys.argv[1]))
