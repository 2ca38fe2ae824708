"""Acknowledgements on their way to one broker: collected by partition, sent as runs of neighbouring offsets.

A broker applies all acknowledgements that a request has for a partition, or none. Those that it refused
together are sent again in halves, until the one at fault is alone.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidelog.clients.queue.held import HeldJob
from tidelog.shares.states import AckType

GROUP_BACKOFF = -1
"""A delay of the group's choice: the broker knows how long a released record waits."""


class PendingAck(NamedTuple):
    offset: int
    type: AckType
    delay_ms: int = GROUP_BACKOFF
    job: HeldJob | None = None
    """None for an offset without a record."""


class AckRun(NamedTuple):
    first: int
    last: int
    types: list[int]
    delay_ms: int


class AckQueue:
    def __init__(self) -> None:
        self._waiting: dict[int, dict[int, PendingAck]] = {}
        self._halves: dict[int, deque[list[PendingAck]]] = {}
        self.count = 0
        self.since = 0.0
        """The time of the oldest acknowledgement."""
        self.is_urgent = False
        """A caller waits for the answer."""

    def add(self, partition: int, ack: PendingAck, now: float) -> None:
        """A later acknowledgement of the same offset takes the place of the earlier one."""
        if not self.count:
            self.since = now
        of_partition = self._waiting.setdefault(partition, {})
        if ack.offset not in of_partition:
            self.count += 1
        of_partition[ack.offset] = ack

    def remove(self, partition: int, offset: int) -> None:
        if self._waiting.get(partition, {}).pop(offset, None) is not None:
            self.count -= 1

    def add_halves(self, partition: int, acks: list[PendingAck]) -> None:
        """Send these again, in two requests."""
        middle = len(acks) // 2
        halves = self._halves.setdefault(partition, deque())
        halves.extend((acks[:middle], acks[middle:]))
        self.count += len(acks)
        self.since = 0.0  # at once

    def take(self) -> dict[int, list[PendingAck]]:
        """Returns what the next request carries, by partition, in the order of offsets."""
        taken: dict[int, list[PendingAck]] = {}
        for partition, halves in list(self._halves.items()):
            taken[partition] = halves.popleft()
            if not halves:
                del self._halves[partition]
        for partition in [each for each in self._waiting if each not in taken]:
            acks = self._waiting.pop(partition)
            if acks:
                taken[partition] = [acks[offset] for offset in sorted(acks)]
        self.count -= sum(map(len, taken.values()))
        if not self.count:
            self.is_urgent = False
        return taken

    def clear(self) -> list[PendingAck]:
        dropped = [ack for acks in self._waiting.values() for ack in acks.values()]
        dropped += [ack for halves in self._halves.values() for half in halves for ack in half]
        self._waiting.clear()
        self._halves.clear()
        self.count, self.is_urgent = 0, False
        return dropped


def runs(acks: Iterable[PendingAck]) -> Iterator[AckRun]:
    """Neighbouring offsets with the same delay: one type where it is the same for all, else one for each."""
    run: list[PendingAck] = []
    for ack in acks:
        if run and (ack.offset != run[-1].offset + 1 or ack.delay_ms != run[-1].delay_ms):
            yield _run(run)
            run = []
        run.append(ack)
    if run:
        yield _run(run)


def _run(acks: list[PendingAck]) -> AckRun:
    types = [int(ack.type) for ack in acks]
    if len(set(types)) == 1:
        types = types[:1]
    return AckRun(acks[0].offset, acks[-1].offset, types, acks[0].delay_ms)
