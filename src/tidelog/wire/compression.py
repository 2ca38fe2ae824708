"""The four codecs of record batches, in the dialects that Java, librdkafka and Python clients all read.

Bytes to decompress come from anywhere: output is bounded by the caller's limit, and whatever is wrong with
the input comes out as KafkaError.
"""

import zlib
from enum import IntEnum
from functools import cache
from types import ModuleType
from typing import Final

import cramjam

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.invariant import broken
from tidelog.base.ports import Buffer
from tidelog.wire import xerial


class Codec(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


GZIP_LEVEL: Final = 6
LZ4_LEVEL: Final = 1
"""The fast mode: cramjam's own default takes five times as long for a few percent."""
ZSTD_LEVEL: Final = 3

_GZIP_WINDOW = 31
"""zlib's way to say: a window of 2^15 in a gzip header, nothing else."""
_CHUNK_BYTES = 64 * 1024
_MEMBER_BYTES = 512
_GROWTH = 8


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return zlib.compress(data, GZIP_LEVEL if level is None else level, _GZIP_WINDOW)
        case Codec.SNAPPY:
            return xerial.compress(data)
        case Codec.LZ4:
            # Java's reader refuses blocks that refer to their predecessors, which is cramjam's default.
            frame = cramjam.lz4.Compressor(
                level=LZ4_LEVEL if level is None else level, content_checksum=False, block_linked=False
            )
            frame.compress(bytes(data))
            return bytes(frame.finish())
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=ZSTD_LEVEL if level is None else level))
    raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression type {codec}")


def decompress(codec: int, data: Buffer, limit: int) -> bytes:
    """All of `data`, which is one or more whole frames. Beyond `limit` bytes: MESSAGE_TOO_LARGE."""
    try:
        match codec:
            case Codec.NONE:
                result = bytes(data[: limit + 1])
            case Codec.GZIP:
                result = _gunzip(data, limit)
            case Codec.SNAPPY:
                result = xerial.decompress(data, limit)
            case Codec.LZ4:
                result = _into_bounded(cramjam.lz4, data, limit)
            case Codec.ZSTD:
                result = _into_bounded(cramjam.zstd, data, limit)
            case _:
                raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression type {codec}")
    except (KafkaError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic inside of cramjam is not an Exception
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{Codec(codec).name.lower()}: {error}") from None
    if len(result) > limit:
        raise _too_large(limit)
    return result


def _gunzip(data: Buffer, limit: int) -> bytes:
    """One or more gzip members, as Java's reader takes them."""
    view = memoryview(data)
    parts: list[bytes] = []
    left = limit
    position = 0
    while position < len(view) or not parts:
        member = zlib.decompressobj(_GZIP_WINDOW)
        # zlib copies what follows the end of a member. After the first one it is fed in small pieces, or a
        # body of thousands of tiny members would be copied thousands of times.
        piece = len(view) if not parts else _MEMBER_BYTES
        while not member.eof:
            fed = view[position : position + piece]
            if not fed:
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "gzip: the stream is cut")
            part = member.decompress(fed, left + 1)
            if len(part) > left:
                raise _too_large(limit)
            left -= len(part)
            parts.append(part)
            position += len(fed) - len(member.unused_data)
            piece *= 2
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _into_bounded(codec: ModuleType, data: Buffer, limit: int) -> bytes:
    """Try with room for the usual ratio, then with ever more, up to `limit` and one byte to see it exceeded.

    Sizes that a frame declares are not consulted: they may lie or be missing.
    """
    room = min(limit + 1, max(_CHUNK_BYTES, _GROWTH * len(data)))
    while True:
        out = bytearray(room)
        try:
            size: int = codec.decompress_into(data, out)
        except cramjam.DecompressionError as error:
            if str(error) != _overflow_text(codec):
                raise
            if room > limit:
                raise _too_large(limit) from None
            del out
            room = min(limit + 1, room * _GROWTH)
        else:
            return bytes(memoryview(out)[:size])


@cache
def _overflow_text(codec: ModuleType) -> str:
    """What cramjam says when the output does not fit: it has one exception for this and for corrupt input."""
    try:
        codec.decompress_into(codec.compress(b"two"), bytearray(1))
    except cramjam.DecompressionError as error:
        return str(error)
    broken("cramjam wrote three bytes into one", codec=codec.__name__)


def _too_large(limit: int) -> KafkaError:
    return KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"the records take more than {limit} bytes uncompressed")
