"""After a sync that failed for want of room, the kernel may take for written what it never wrote.

What was read back and checked is therefore written once more, byte for byte, so that the next sync means it.
"""

from tidelog.base.ids import Offset
from tidelog.storage.segment.segment import Segment

_CHUNK_BYTES = 1 << 20


def rewrite(segments: list[Segment], recovery_point: Offset) -> None:
    """Everything from the recovery point on; the caller syncs it. OSError where there is still no room."""
    for number, segment in enumerate(segments):
        is_synced = number + 1 < len(segments) and segments[number + 1].base <= recovery_point
        if is_synced or not segment.size:
            continue
        found = segment.locate(recovery_point) if segment.base < recovery_point else (0, None)
        if found is None:
            continue
        for position in range(found[0], segment.size, _CHUNK_BYTES):
            segment.file.write_again(position, min(_CHUNK_BYTES, segment.size - position))
