"""The replicas of a partition on the disks of stopped brokers: they must be equal, byte by byte."""

from collections.abc import Iterator
from pathlib import Path

from tidelog.wire.batch import iter_batches


def differing_replicas(directories: list[Path], partition: str) -> Iterator[str]:
    """Segments may be cut differently; the batches in them may not differ."""
    contents = {directory: log_bytes(directory / partition) for directory in directories}
    first, *others = contents
    for other in others:
        mine, theirs = contents[first], contents[other]
        if mine != theirs:
            yield f"{partition}: {first} and {other} differ {_where(mine, theirs)}"


def log_bytes(directory: Path) -> bytes:
    segments = sorted(directory.glob("*.log"))
    return b"".join(segment.read_bytes() for segment in segments)


def _where(mine: bytes, theirs: bytes) -> str:
    for (position, header), (_, other) in zip(iter_batches(mine), iter_batches(theirs), strict=False):
        end = position + header.size
        if header != other or mine[position:end] != theirs[position:end]:
            return f"at byte {position}: {header} and {other}"
    return f"in length: {len(mine)} and {len(theirs)} bytes"
