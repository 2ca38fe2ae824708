"""The five APIs of the share coordinator: how each runs at the coordinator, and its messages.

They have one shape: a group, topics, partitions; and for each partition an error or what was asked for. So a
request can be split by coordinator, and its answers put together, without knowing which API it is.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Uuid
from tidelog.broker.coordinators.share_states import ShareStates
from tidelog.broker.shares.state_messages import read_result, write_of
from tidelog.shares.place import SharePlace
from tidelog.shares.state.requests import StateRead, StateSummary
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages import delete_share_group_state as delete
from tidelog.wire.messages import initialize_share_group_state as initialize
from tidelog.wire.messages import read_share_group_state as read
from tidelog.wire.messages import read_share_group_state_summary as summary
from tidelog.wire.messages import write_share_group_state as write

READ_BATCHES = 4_096
"""State batches in one response, for a reader that asks for parts, and up to 2,048 more: what a turn of the
event loop has time for, here and at the reader."""


@dataclass(frozen=True, slots=True)
class StateApi:
    key: ApiKey
    version: int
    """That brokers use among each other."""
    run: Callable[[ShareStates, SharePlace, Any], Any]
    """An answer, a KafkaError, or a future of either."""
    request: Callable[..., Any]
    topic: Callable[..., Any]
    response: Callable[..., Any]
    results: Callable[..., Any]
    result: Callable[..., Any]
    fill: Callable[[Any, Any], None] = lambda result, answer: None
    """Puts an answer into the result of a partition."""

    def result_of(self, partition: int, answer: Any) -> Any:
        result = self.result(partition=partition)
        if isinstance(answer, KafkaError):
            result.error_code, result.error_message = answer.code, answer.message
        else:
            self.fill(result, answer)
        return result

    def run_at(self, states: ShareStates, place: SharePlace, data: Any) -> "Any | asyncio.Future[Any]":
        """The answer of the coordinator on this broker. An error is an answer, too."""
        try:
            return self.run(states, place, data)
        except KafkaError as error:
            return error

    def request_of(self, group_id: str, asked: Iterable[tuple[SharePlace, Any]]) -> Message:
        topics: dict[Uuid, list[Any]] = {}
        for place, data in asked:
            topics.setdefault(place.topic_id, []).append(data)
        message: Message = self.request(
            group_id=group_id,
            topics=[self.topic(topic_id=topic_id, partitions=parts) for topic_id, parts in topics.items()],
        )
        return message

    def response_of(self, answered: Iterable[tuple[SharePlace, Any]]) -> Any:
        topics: dict[Uuid, list[Any]] = {}
        for place, result in answered:
            topics.setdefault(place.topic_id, []).append(result)
        return self.response(
            results=[self.results(topic_id=topic_id, partitions=parts) for topic_id, parts in topics.items()]
        )


def asked_in(request: Any) -> Iterator[tuple[SharePlace, Any]]:
    for topic in request.topics:
        for data in topic.partitions:
            yield SharePlace(request.group_id, topic.topic_id, data.partition), data


def _read(states: ShareStates, place: SharePlace, data: read.PartitionData) -> Any:
    if data.first_offset < 0:
        return states.read(place, data.leader_epoch)
    return states.read(place, data.leader_epoch, data.first_offset, READ_BATCHES)


def _fill_read(result: read.PartitionResult, answer: StateRead) -> None:
    read_result(result, answer)


def _fill_summary(result: summary.PartitionResult, answer: StateSummary) -> None:
    result.state_epoch, result.leader_epoch = answer.state_epoch, answer.leader_epoch
    result.start_offset = answer.start_offset
    result.delivery_complete_count = answer.delivery_complete_count


INITIALIZE = StateApi(
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    0,
    lambda states, place, data: states.initialize(place, data.state_epoch, data.start_offset),
    initialize.InitializeShareGroupStateRequest,
    initialize.InitializeStateData,
    initialize.InitializeShareGroupStateResponse,
    initialize.InitializeStateResult,
    initialize.PartitionResult,
)
READ = StateApi(
    ApiKey.READ_SHARE_GROUP_STATE,
    0,
    _read,
    read.ReadShareGroupStateRequest,
    read.ReadStateData,
    read.ReadShareGroupStateResponse,
    read.ReadStateResult,
    read.PartitionResult,
    _fill_read,
)
WRITE = StateApi(
    ApiKey.WRITE_SHARE_GROUP_STATE,
    1,
    lambda states, place, data: states.write(place, write_of(data)),
    write.WriteShareGroupStateRequest,
    write.WriteStateData,
    write.WriteShareGroupStateResponse,
    write.WriteStateResult,
    write.PartitionResult,
)
DELETE = StateApi(
    ApiKey.DELETE_SHARE_GROUP_STATE,
    0,
    lambda states, place, data: states.delete(place),
    delete.DeleteShareGroupStateRequest,
    delete.DeleteStateData,
    delete.DeleteShareGroupStateResponse,
    delete.DeleteStateResult,
    delete.PartitionResult,
)
READ_SUMMARY = StateApi(
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    1,
    lambda states, place, data: states.summary(place),
    summary.ReadShareGroupStateSummaryRequest,
    summary.ReadStateSummaryData,
    summary.ReadShareGroupStateSummaryResponse,
    summary.ReadStateSummaryResult,
    summary.PartitionResult,
    _fill_summary,
)
