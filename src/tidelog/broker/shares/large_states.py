"""Reads the stored state of share partitions in parts, and loads it in turns of the event loop.

A state may have half a million state batches, which take seconds. However many states a broker reads at once,
it works on a few parts of them in each turn, first come first served; none of them waits for the coordinator
of another.
"""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, Offset
from tidelog.broker.shares.ports import StateStore
from tidelog.broker.shares.state_messages import batches_in, read_request
from tidelog.broker.turns import in_turns
from tidelog.shares.partition.load import StateLoad, in_pieces
from tidelog.shares.place import SharePlace
from tidelog.wire.messages.read_share_group_state import PartitionResult

BATCHES_A_TURN = 512
"""Of one state."""
STATES_A_TURN = 8


class StateReader:
    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._slots = asyncio.Semaphore(STATES_A_TURN)

    def read(self, place: SharePlace, leader_epoch: Epoch) -> "StateParts":
        return StateParts(self._store, self._slots, place, leader_epoch)

    async def load(self, load: StateLoad, part: PartitionResult) -> None:
        async with self._slots:
            async for batches in in_turns(in_pieces(batches_in(part)), BATCHES_A_TURN):
                load.put(batches)


class StateParts:
    """The parts of one state, one after the other."""

    __slots__ = ("_begins", "_leader_epoch", "_next_first", "_place", "_slots", "_store", "is_first")

    def __init__(
        self, store: StateStore, slots: asyncio.Semaphore, place: SharePlace, leader_epoch: Epoch
    ) -> None:
        self._store = store
        self._slots = slots
        self._place = place
        self._leader_epoch = leader_epoch
        self._next_first: Offset = 0
        self._begins: tuple[int, ...] = ()
        self.is_first = True
        """Whether the part that came last is the first. A state that changed in between comes anew: forget
        the parts before."""

    async def next(self) -> PartitionResult | None:
        """None after the last. KafkaError if there is no state, or its coordinator does not answer."""
        while self._next_first >= 0:
            async with self._slots:
                await asyncio.sleep(0)  # to read a part is work, too, if its coordinator is on this broker
            request = read_request(self._place, self._leader_epoch, self._next_first)
            response = await self._store.read(request)
            part = response.results[0].partitions[0]
            if part.error_code:
                raise KafkaError(ErrorCode.of(part.error_code), part.error_message)
            self.is_first = self._next_first == 0
            if self.is_first:
                self._begins = self._begin_of(part)
            elif self._begins != self._begin_of(part):
                self._next_first = 0
                continue
            self._next_first = part.next_offset
            return part
        return None

    def _begin_of(self, part: PartitionResult) -> tuple[int, ...]:
        """What the parts of one state have in common. For the leader it does not change while it reads,
        unless the state is begun anew or a write of its own arrives late; a look meets all writes."""
        if self._leader_epoch == NO_EPOCH:
            return (part.state_epoch,)
        return part.state_epoch, part.start_offset, part.write_sequence
