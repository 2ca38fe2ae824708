"""Many moves as pieces that follow each other: brokers copy a part at a time, and a stop loses little."""

from collections.abc import Iterator, Mapping, Sequence

from tidelog.cli.reassign.plan import Move
from tidelog.clients.records import TopicPartition

PARTITIONS_MAX = 50
BYTES_MAX = 1 << 30


def pieces(moves: Sequence[Move], sizes: Mapping[TopicPartition, int]) -> Iterator[list[Move]]:
    """In the order of the moves. A partition that is larger than a piece is one by itself."""
    piece: list[Move] = []
    held = 0
    for move in moves:
        size = copied_bytes(move, sizes)
        if piece and (len(piece) == PARTITIONS_MAX or held + size > BYTES_MAX):
            yield piece
            piece, held = [], 0
        piece.append(move)
        held += size
    if piece:
        yield piece


def copied_bytes(move: Move, sizes: Mapping[TopicPartition, int]) -> int:
    return sizes.get(move.place, 0) * len(move.adding)
