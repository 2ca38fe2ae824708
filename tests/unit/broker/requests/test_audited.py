"""Handlers under the audit record: the same answers as without it, and an event for each outcome."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.virtual_time import run
from tidelog.broker.requests.answer import NO_RESPONSE
from tidelog.broker.requests.audited import audited
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.security.audit.event import AuditEvent, AuditKind
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import share_fetch
from tidelog.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tidelog.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, ReplicaState
from tidelog.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

ORDERS = bytes(15) + b"\1"


class Record:
    def __init__(self, *kinds: AuditKind) -> None:
        self.kinds = kinds
        self.events: list[AuditEvent] = []

    def wants(self, kind: AuditKind) -> bool:
        return kind in self.kinds

    def record(self, event: AuditEvent) -> None:
        self.events.append(event)

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [(event.actor.principal, event.resource, event.result) for event in self.events]


def context(host: str = "192.0.2.1") -> Context:
    image = SimpleNamespace(topics_by_id={ORDERS: SimpleNamespace(name="orders")})
    services: Any = SimpleNamespace(metadata=SimpleNamespace(image=image))
    connection = ClientConnection(host, 5555, "CLIENTS")
    connection.principal = "User:bob"
    return Context(services, connection, 13, "etl", "DeleteTopics")


def handled(record: Record, api_key: ApiKey, request: Any, answer: Any, host: str = "192.0.2.1") -> Any:
    audit: Any = record
    return audited(audit, api_key, lambda *_: answer)(context(host), request)


DELETED = DeleteTopicsResponse(responses=[DeletableTopicResult(name="orders", error_code=3)])


def test_a_change_is_recorded_with_its_result() -> None:
    record = Record(AuditKind.CHANGED)
    assert handled(record, ApiKey.DELETE_TOPICS, DeleteTopicsRequest(), DELETED) is DELETED
    assert record.told == [("User:bob", "orders", "UNKNOWN_TOPIC_OR_PARTITION")]
    assert record.events[0].api == "DeleteTopics"


def test_a_change_that_is_answered_later() -> None:
    record = Record(AuditKind.CHANGED)

    async def answering() -> DeleteTopicsResponse:
        await asyncio.sleep(5)
        return DELETED

    assert run(handled(record, ApiKey.DELETE_TOPICS, DeleteTopicsRequest(), answering())) is DELETED
    assert len(record.events) == 1


def test_the_next_controller_records_what_this_one_refuses() -> None:
    record = Record(AuditKind.CHANGED)
    refusal = DeleteTopicsResponse(responses=[DeletableTopicResult(name="orders", error_code=41)])
    handled(record, ApiKey.DELETE_TOPICS, DeleteTopicsRequest(), refusal)
    assert not record.events


def test_what_is_not_wanted_is_not_wrapped() -> None:
    audit: Any = Record(AuditKind.DENIED)

    def handle(*_: Any) -> Any:
        return NO_RESPONSE

    for key in (ApiKey.DELETE_TOPICS, ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA):
        assert audited(audit, key, handle) is handle


def test_requests_of_the_broker_itself_are_left_out() -> None:
    record = Record(AuditKind.CHANGED)
    handled(record, ApiKey.DELETE_TOPICS, DeleteTopicsRequest(), DELETED, host="")
    assert not record.events


def test_writes_name_their_topics_also_where_there_is_no_response() -> None:
    record = Record(AuditKind.WROTE)
    request = ProduceRequest(topic_data=[TopicProduceData(topic_id=ORDERS)])
    handled(record, ApiKey.PRODUCE, request, NO_RESPONSE)
    parts = [PartitionProduceResponse(), PartitionProduceResponse(index=1, error_code=6)]
    answer = ProduceResponse(responses=[TopicProduceResponse(name="other", partition_responses=parts)])
    handled(record, ApiKey.PRODUCE, request, answer)
    assert record.told == [("User:bob", "orders", "OK"), ("User:bob", "other", "NOT_LEADER_OR_FOLLOWER")]


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        (FetchRequest(), 1),
        (FetchRequest(replica_id=2), 0),
        (FetchRequest(replica_state=ReplicaState(replica_id=2)), 0),
    ],
)
def test_reads_of_clients_and_not_of_followers(request_: FetchRequest, count: int) -> None:
    record = Record(AuditKind.READ)
    answer = FetchResponse(responses=[FetchableTopicResponse(topic="orders")])
    handled(record, ApiKey.FETCH, request_, answer)
    assert len(record.events) == count


def test_an_event_that_cannot_be_described_fails_no_request(caplog: pytest.LogCaptureFixture) -> None:
    record = Record(AuditKind.CHANGED)
    odd = DeleteTopicsResponse(responses=[None])  # type: ignore[list-item]
    assert handled(record, ApiKey.DELETE_TOPICS, DeleteTopicsRequest(), odd) is odd
    assert "could not be recorded" in caplog.text


def test_records_that_a_share_group_reads_are_recorded_by_topic() -> None:
    record = Record(AuditKind.READ)
    read = share_fetch.ShareFetchableTopicResponse(
        topic_id=ORDERS, partitions=[share_fetch.PartitionData(), share_fetch.PartitionData(error_code=29)]
    )
    response = share_fetch.ShareFetchResponse(responses=[read])
    assert (
        handled(record, ApiKey.SHARE_FETCH, share_fetch.ShareFetchRequest(group_id="g"), response) is response
    )
    assert record.told == [("User:bob", "orders", "TOPIC_AUTHORIZATION_FAILED")]
