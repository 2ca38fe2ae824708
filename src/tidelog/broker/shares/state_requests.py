"""What groups ask of the persister, for many partitions at once."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Uuid
from tidelog.groups.share.messages import StatesToDelete, StatesToMake
from tidelog.wire.messages import delete_share_group_state as delete
from tidelog.wire.messages import initialize_share_group_state as initialize
from tidelog.wire.messages import read_share_group_state_summary as summary

StateErrors: TypeAlias = dict[tuple[Uuid, int], ErrorCode]
"""Of every partition that a request names, NONE where it went well."""


class _PartitionResult(Protocol):
    partition: int
    error_code: int


class _TopicResult(Protocol):
    topic_id: bytes

    @property
    def partitions(self) -> Sequence[_PartitionResult]: ...


def initialize_request(to_make: StatesToMake) -> initialize.InitializeShareGroupStateRequest:
    return initialize.InitializeShareGroupStateRequest(
        group_id=to_make.group_id,
        topics=[
            initialize.InitializeStateData(
                topic_id=topic,
                partitions=[
                    initialize.PartitionData(
                        partition=number, state_epoch=to_make.state_epoch, start_offset=offset
                    )
                    for number, offset in sorted(offsets.items())
                ],
            )
            for topic, offsets in to_make.offsets.items()
        ],
    )


def delete_request(to_delete: StatesToDelete) -> delete.DeleteShareGroupStateRequest:
    return delete.DeleteShareGroupStateRequest(
        group_id=to_delete.group_id,
        topics=[
            delete.DeleteStateData(
                topic_id=topic,
                partitions=[delete.PartitionData(partition=number) for number in sorted(numbers)],
            )
            for topic, numbers in to_delete.partitions.items()
        ],
    )


def summary_request(
    group_id: str, partitions: Mapping[Uuid, Sequence[int]]
) -> summary.ReadShareGroupStateSummaryRequest:
    return summary.ReadShareGroupStateSummaryRequest(
        group_id=group_id,
        topics=[
            summary.ReadStateSummaryData(
                topic_id=topic,
                partitions=[summary.PartitionData(partition=number, leader_epoch=-1) for number in numbers],
            )
            for topic, numbers in partitions.items()
        ],
    )


def errors_in(asked: Mapping[Uuid, frozenset[int]], results: Sequence[_TopicResult] = ()) -> StateErrors:
    """A partition that the answer leaves out has failed: it may be there, so it is asked for again."""
    errors: StateErrors = {
        (topic, number): ErrorCode.COORDINATOR_NOT_AVAILABLE
        for topic, numbers in asked.items()
        for number in numbers
    }
    for topic_result in results:
        for result in topic_result.partitions:
            errors[topic_result.topic_id, result.partition] = ErrorCode.of(result.error_code)
    return errors
