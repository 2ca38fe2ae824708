"""The state of a share partition as the messages of the persister carry it."""

from collections.abc import Iterator

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, Offset
from tidelog.shares.partition.load import StateLoad
from tidelog.shares.partition.unsaved import Unsaved
from tidelog.shares.place import SharePlace
from tidelog.shares.state.requests import StateRead, StateWrite
from tidelog.shares.states import DeadLetterWrite, DeliveryState, ShareState, StateBatch
from tidelog.wire.messages import read_share_group_state as read
from tidelog.wire.messages import write_share_group_state as write


def read_request(place: SharePlace, leader_epoch: Epoch, first: Offset) -> read.ReadShareGroupStateRequest:
    """Asks for a part of a state, from this offset on."""
    asked = read.PartitionData(partition=place.partition, leader_epoch=leader_epoch, first_offset=first)
    topic = read.ReadStateData(topic_id=place.topic_id, partitions=[asked])
    return read.ReadShareGroupStateRequest(group_id=place.group_id, topics=[topic])


def state_in(part: read.PartitionResult) -> ShareState:
    """All but the batches."""
    begun = next(map(_dead_letters_of, part.dead_letter_writes), None)
    return ShareState(part.state_epoch, part.start_offset, dead_letters=begun)


def batches_in(part: read.PartitionResult) -> Iterator[StateBatch]:
    for batch in part.state_batches:
        yield StateBatch(
            batch.first_offset,
            batch.last_offset,
            DeliveryState(batch.delivery_state),
            batch.delivery_count,
            batch.available_at,
        )


def _dead_letters_of(message: read.DeadLetterWrite | write.DeadLetterWrite) -> DeadLetterWrite:
    return DeadLetterWrite(
        message.producer_id,
        message.producer_epoch,
        message.first_sequence,
        message.topic_id,
        message.partition,
        tuple((one.first_offset, one.last_offset) for one in message.offsets),
    )


def start_request(
    place: SharePlace, state_epoch: int, leader_epoch: Epoch, start: Offset
) -> write.WriteShareGroupStateRequest:
    """Stores where a group begins, before it gets the first record."""
    return _request(
        place,
        write.PartitionData(
            partition=place.partition,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start,
            delivery_complete_count=0,
        ),
    )


def truncate_request(
    place: SharePlace, load: StateLoad, leader_epoch: Epoch, log_end: Offset
) -> write.WriteShareGroupStateRequest:
    """Forgets what is stored of records that the log has lost, before others get their offsets."""
    within = load.state
    data = write.PartitionData(
        partition=place.partition,
        state_epoch=within.state_epoch,
        leader_epoch=leader_epoch,
        start_offset=within.start_offset,
        delivery_complete_count=load.done,
        log_end=log_end,
    )
    if within.dead_letters is not None:
        data.dead_letter_writes = [_dead_letters_message(within.dead_letters)]
    return _request(place, data)


def save_request(
    place: SharePlace, state_epoch: int, leader_epoch: Epoch, unsaved: Unsaved
) -> write.WriteShareGroupStateRequest:
    batches = [
        write.StateBatch(
            first_offset=first,
            last_offset=last,
            delivery_state=int(state),
            delivery_count=count,
            available_at=available_at,
        )
        for first, last, state, count, available_at in unsaved.batches
    ]
    data = write.PartitionData(
        partition=place.partition,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=unsaved.start_offset,
        delivery_complete_count=unsaved.delivery_complete_count,
        state_batches=batches,
    )
    if unsaved.dead_letters is not None:
        data.dead_letter_writes = [_dead_letters_message(unsaved.dead_letters)]
    return _request(place, data)


def _dead_letters_message(begun: DeadLetterWrite) -> write.DeadLetterWrite:
    return write.DeadLetterWrite(
        producer_id=begun.producer_id,
        producer_epoch=begun.producer_epoch,
        first_sequence=begun.first_sequence,
        topic_id=begun.topic_id,
        partition=begun.partition,
        offsets=[write.OffsetRange(first_offset=first, last_offset=last) for first, last in begun.offsets],
    )


def _request(place: SharePlace, data: write.PartitionData) -> write.WriteShareGroupStateRequest:
    topic = write.WriteStateData(topic_id=place.topic_id, partitions=[data])
    return write.WriteShareGroupStateRequest(group_id=place.group_id, topics=[topic])


def error_in(response: write.WriteShareGroupStateResponse) -> KafkaError | None:
    result = response.results[0].partitions[0]
    return KafkaError(ErrorCode.of(result.error_code), result.error_message) if result.error_code else None


def read_result(result: read.PartitionResult, answer: StateRead) -> None:
    """Puts a state into the result of its partition."""
    state = answer.state
    result.state_epoch, result.start_offset = state.state_epoch, state.start_offset
    result.write_sequence = answer.sequence
    result.state_batches = [
        read.StateBatch(
            first_offset=first,
            last_offset=last,
            delivery_state=int(delivery_state),
            delivery_count=count,
            available_at=available_at,
        )
        for first, last, delivery_state, count, available_at in state.batches
    ]
    if answer.rest is not None:
        result.next_offset = answer.rest
    begun = state.dead_letters
    if begun is not None:
        result.dead_letter_writes = [
            read.DeadLetterWrite(
                producer_id=begun.producer_id,
                producer_epoch=begun.producer_epoch,
                first_sequence=begun.first_sequence,
                topic_id=begun.topic_id,
                partition=begun.partition,
                offsets=[
                    read.OffsetRange(first_offset=first, last_offset=last) for first, last in begun.offsets
                ],
            )
        ]


def write_of(data: write.PartitionData) -> StateWrite:
    """KafkaError where a state is none that is stored."""
    try:
        batches = [
            StateBatch(
                batch.first_offset,
                batch.last_offset,
                DeliveryState(batch.delivery_state),
                batch.delivery_count,
                batch.available_at,
            )
            for batch in data.state_batches
        ]
    except ValueError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None
    return StateWrite(
        data.state_epoch,
        data.leader_epoch,
        data.start_offset,
        batches,
        data.delivery_complete_count,
        next(map(_dead_letters_of, data.dead_letter_writes), None),
        data.write_sequence,
        bool(data.more_follows),
        data.log_end,
    )
