"""How fast queues fill and empty: from two looks at them. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.cli.queue.standing import Queue, QueuePartition, total

SECOND_MS = 1000


@dataclass(frozen=True, slots=True)
class Rates:
    """Records per second."""

    incoming: float | None = None
    done: float | None = None
    """Accepted or rejected by members, or given up on."""

    def empty_in_ms(self, depth: int | None) -> int | None:
        """When the queue is empty, if it goes on like this."""
        if not depth or self.done is None or self.incoming is None or self.done <= self.incoming:
            return None
        return round(depth / (self.done - self.incoming) * SECOND_MS)


def rates(before: Queue, after: Queue, elapsed_s: float) -> Rates:
    """Unknown where a partition was reported only once, as after a change of its leader."""
    if elapsed_s <= 0:
        return Rates()
    earlier = {part.place: part for part in before.partitions}
    pairs = [(earlier[part.place], part) for part in after.partitions if part.place in earlier]

    def rate(of: Callable[[QueuePartition], int | None]) -> float | None:
        counts = [(of(old), of(new)) for old, new in pairs]
        grown = [new - old for old, new in counts if old is not None and new is not None]
        return max(0, sum(grown)) / elapsed_s if grown else None

    return Rates(rate(lambda part: part.end_offset), rate(finished))


def finished(part: QueuePartition) -> int | None:
    """All offsets before the end but those that are not done; only its growth means something."""
    return None if part.end_offset is None or part.depth is None else part.end_offset - part.depth


def depth_of(queue: Queue) -> int | None:
    return total(queue.partitions, lambda part: part.depth)
