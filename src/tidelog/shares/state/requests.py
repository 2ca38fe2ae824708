"""What leaders and group coordinators ask of the share coordinator, and its answers.

A refusal is a KafkaError in place of the answer.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.base.ids import Epoch, Offset
from tidelog.shares.state.records import NO_LOG_END, NO_SEQUENCE, UNKNOWN_COUNT
from tidelog.shares.state.settings import RECORD_BATCHES
from tidelog.shares.states import NO_START_OFFSET, DeadLetterWrite, ShareState, StateBatch

ANY_EPOCH = -1
"""A request that does not say its epoch is not fenced by it."""


class StateWrite(NamedTuple):
    state_epoch: int
    leader_epoch: Epoch
    start_offset: Offset
    batches: Sequence[StateBatch] = ()
    delivery_complete_count: int = UNKNOWN_COUNT
    dead_letters: DeadLetterWrite | None = None
    """The batch of dead letters that is begun; None also says that an earlier batch is written."""
    sequence: int = NO_SEQUENCE
    """Rises with each write of a share partition: a write that a network delivers late is refused."""
    is_partial: bool = False
    """More of this write follows. Only its batches count: the rest changes with the last part."""
    log_end: Offset = NO_LOG_END
    """Where the log of the partition ends, if it lost records of which something is stored."""
    is_continued: bool = False
    """An earlier part of the same request, with the same sequence, is stored."""

    def parts(self) -> "list[StateWrite]":
        """Returns writes that fit a record each. All but the last only store batches, which are true by
        themselves: a crash in between leaves a state that is behind, not wrong."""
        if len(self.batches) <= RECORD_BATCHES:
            return [self]
        split = [self.batches[at : at + RECORD_BATCHES] for at in range(0, len(self.batches), RECORD_BATCHES)]
        partial = [
            self._replace(batches=batches, is_partial=True, is_continued=at > 0)
            for at, batches in enumerate(split[:-1])
        ]
        return [*partial, self._replace(batches=split[-1], is_continued=True)]


class StateRead(NamedTuple):
    state: ShareState
    sequence: int = NO_SEQUENCE
    """Of the last write. The next must be higher."""
    rest: Offset | None = None
    """Not None: batches from this offset on are left out."""


class StateSummary(NamedTuple):
    state_epoch: int = 0
    leader_epoch: Epoch = 0
    start_offset: Offset = NO_START_OFFSET
    delivery_complete_count: int = UNKNOWN_COUNT
