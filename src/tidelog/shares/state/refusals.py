"""Why the share coordinator refuses a request, with the errors and some of the words of Kafka."""

from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, Offset
from tidelog.shares.state.settings import (
    DEAD_LETTERS_MAX,
    DELAYED_RECORDS_MAX,
    RECORD_BATCHES,
    WINDOW_RECORDS_MAX,
)
from tidelog.shares.state.stored import StoredState
from tidelog.shares.states import AT_ONCE, NO_START_OFFSET, DeadLetterWrite, DeliveryState, StateBatch


def negative() -> KafkaError:
    return _invalid("The partition id cannot be a negative number.")


def uninitialized(what: str) -> KafkaError:
    return _invalid(f"{what} operation on uninitialized share partition not allowed.")


def unknown_partition() -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def old_leader_epoch(epoch: Epoch, state: StoredState) -> KafkaError:
    return KafkaError(
        ErrorCode.FENCED_LEADER_EPOCH,
        f"a leader of epoch {epoch}: the leader of epoch {state.leader_epoch} has read the state",
    )


def old_state_epoch(epoch: int, state: StoredState) -> KafkaError:
    return KafkaError(
        ErrorCode.FENCED_STATE_EPOCH,
        f"a request of state epoch {epoch}: the state was begun anew in epoch {state.state_epoch}",
    )


def not_read(epoch: Epoch, state: StoredState) -> KafkaError:
    """A group that is deleted and made anew counts its state epochs anew, too: they do not fence a leader
    that still has the state of the old group in memory."""
    return KafkaError(
        ErrorCode.FENCED_STATE_EPOCH,
        f"a leader of epoch {epoch} that has not read this state: the last to read it had epoch "
        f"{state.leader_epoch}",
    )


def late(sequence: int, state: StoredState) -> KafkaError:
    return _invalid(f"a write of sequence {sequence} came late: {state.sequence} is stored")


def of_start(start: Offset) -> KafkaError | None:
    """What is wrong with the offset at which a state would begin."""
    return _invalid(f"a start offset of {start}") if start < NO_START_OFFSET else None


def of_dead_letters(begun: DeadLetterWrite | None) -> KafkaError | None:
    """What is wrong with a batch of dead letters that would be stored as begun."""
    if begun is None:
        return None
    if min(begun.producer_id, begun.producer_epoch, begun.first_sequence, begun.partition) < 0:
        return _invalid(f"a write of dead letters with a negative number: {begun}")
    letters, least = 0, 0
    for first, last in begun.offsets:
        if not least <= first <= last:
            return _invalid(f"dead letters from offset {first} to {last}, behind {least - 1}")
        letters, least = letters + last - first + 1, last + 1
    if not 0 < letters <= DEAD_LETTERS_MAX:
        return _invalid(f"a write of {letters} dead letters: 1 to {DEAD_LETTERS_MAX} are possible")
    return None


def of_batches(batches: Sequence[StateBatch], start: Offset) -> KafkaError | None:
    """What is wrong with batches that would be stored above a start offset."""
    if not batches:
        return None
    if len(batches) > RECORD_BATCHES:
        return _invalid(f"{len(batches)} state batches in one write, limit {RECORD_BATCHES}: split it")
    if start == NO_START_OFFSET:
        return _invalid("state batches are stored from a start offset on, and there is none yet")
    end = start + WINDOW_RECORDS_MAX
    records = delayed = 0
    for first, last, state, count, due_ms in batches:
        if not 0 <= first <= last:
            return _invalid(f"a state batch from offset {first} to {last}")
        if last >= end:
            return _invalid(
                f"a state batch reaches offset {last}: no more than {WINDOW_RECORDS_MAX} records are stored "
                f"above the start offset {start}"
            )
        if state is DeliveryState.ACQUIRED:
            return _invalid("a state batch of records that members hold: only their earlier state is stored")
        if count < 0:
            return _invalid(f"a delivery count of {count}")
        records += last - first + 1
        if due_ms != AT_ONCE:
            delayed += last - first + 1
    if records > WINDOW_RECORDS_MAX:
        return _invalid(f"{records} records in one write, limit {WINDOW_RECORDS_MAX}: send each offset once")
    if delayed > DELAYED_RECORDS_MAX:
        return _invalid(f"{delayed} delayed records in one write, limit {DELAYED_RECORDS_MAX}")
    return None


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
