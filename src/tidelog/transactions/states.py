"""The states of a transactional id and what may follow each: the table is the documentation.

A transaction's fate is decided by the record that moves it to PREPARE_COMMIT or PREPARE_ABORT. From there on
only markers are written, again and again until every partition has its own, and then the record that says so.
"""

from enum import IntEnum


class State(IntEnum):
    """Numbers as in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def text(self) -> str:
        """As clients spell it."""
        return self.name.title().replace("_", "")


NEXT: dict[State, frozenset[State]] = {
    # To COMPLETE_ABORT: an abort (KIP-890) of a transaction that never reached a partition, so that what is
    # still under way for it comes with an epoch that is outdated.
    State.EMPTY: frozenset({State.EMPTY, State.ONGOING, State.COMPLETE_ABORT, State.DEAD}),
    State.ONGOING: frozenset({State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT}),
    State.PREPARE_COMMIT: frozenset({State.COMPLETE_COMMIT}),
    State.PREPARE_ABORT: frozenset({State.COMPLETE_ABORT}),
    State.COMPLETE_COMMIT: frozenset({State.EMPTY, State.ONGOING, State.COMPLETE_ABORT, State.DEAD}),
    State.COMPLETE_ABORT: frozenset({State.EMPTY, State.ONGOING, State.COMPLETE_ABORT, State.DEAD}),
    State.DEAD: frozenset(),  # a tombstone: the id is forgotten, and nothing of it is left
    # Kafka passes through it in memory. Fencing is one step here: a record with the new epoch and the abort.
    State.PREPARE_EPOCH_FENCE: frozenset({State.PREPARE_ABORT}),
}

IDLE = (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
"""No transaction is under way: the id may begin one, get a new epoch, or expire."""
ENDING = (State.PREPARE_COMMIT, State.PREPARE_ABORT)
"""Decided; markers are being written."""

BY_TEXT = {state.text: state for state in State}
