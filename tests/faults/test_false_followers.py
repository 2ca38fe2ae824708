"""Clients that fetch in the name of a follower: they get nothing, move nothing and leave nothing behind."""

import time

import pytest

from tests.faults.log_calls import BY_NAME, batch, create_topic, offset_at, produce, read_all
from tests.faults.odd_requests import MAX32, MAX64, MIN32, E, codes_of
from tests.faults.raw_client import RawClient, versions
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)

pytestmark = pytest.mark.usefixtures("no_failures")
TOPIC = "followed"


@pytest.fixture(scope="module")
def topic_id(broker: Broker) -> bytes:
    with RawClient(broker.port) as client:
        made = create_topic(client, TOPIC)
        assert produce(client, TOPIC, batch(b"a", b"b")).error_code == E.NONE
        return made


def as_follower(
    topic_id: bytes, version: int, *, replica: int = 2, offset: int = 0, epoch: int = -1, **fields: int
) -> FetchRequest:
    asked = FetchPartition(fetch_offset=offset, current_leader_epoch=epoch, partition_max_bytes=1000)
    name = {"topic_id": topic_id} if version > BY_NAME else {"topic": TOPIC}
    request = FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        topics=[FetchTopic(partitions=[asked], **name)],  # type: ignore[arg-type]
        **fields,  # type: ignore[arg-type]
    )
    if version >= 15:
        request.replica_state = ReplicaState(replica_id=replica, replica_epoch=fields.get("epoch", 0))
    else:
        request.replica_id = replica
    return request


def only(client: RawClient, request: FetchRequest, version: int) -> PartitionData:
    [[answer]] = [topic.partitions for topic in client.ask(ApiKey.FETCH, request, version).responses]
    assert isinstance(answer, PartitionData)
    return answer


@pytest.mark.parametrize("version", list(versions(ApiKey.FETCH)))
@pytest.mark.parametrize("replica", [0, 1, 2, MAX32])
def test_who_is_no_replica_is_refused_at_once(
    client: RawClient, topic_id: bytes, version: int, replica: int
) -> None:
    began = time.monotonic()
    answer = only(client, as_follower(topic_id, version, replica=replica), version)
    assert answer.error_code in {E.UNKNOWN_LEADER_EPOCH, E.NOT_LEADER_OR_FOLLOWER}
    assert not answer.records
    assert time.monotonic() - began < 5
    assert offset_at(client, TOPIC) == 2


@pytest.mark.parametrize(
    ("offset", "epoch"), [(-1, -1), (MAX64, -1), (0, MAX32), (0, -5), (3, 0), (0, MIN32)]
)
def test_odd_places_and_epochs(client: RawClient, topic_id: bytes, offset: int, epoch: int) -> None:
    answer = only(client, as_follower(topic_id, 17, offset=offset, epoch=epoch), 17)
    assert answer.error_code != E.NONE
    assert not answer.records


def test_negative_ids_are_consumers(client: RawClient, topic_id: bytes) -> None:
    for replica in (-1, -2, MIN32):
        assert only(client, as_follower(topic_id, 17, replica=replica), 17).records


def test_thousands_of_sessions_are_a_few(broker: Broker, topic_id: bytes) -> None:
    with RawClient(broker.port) as client:
        for number in range(3_000):
            request = as_follower(topic_id, 17, replica=2 + number % 700, session_id=0, session_epoch=0)
            request.max_wait_ms = 0
            answer = client.ask(ApiKey.FETCH, request, 17)
            assert set(codes_of(answer)) <= {E.NONE, E.UNKNOWN_LEADER_EPOCH, E.NOT_LEADER_OR_FOLLOWER}
        stranger = FetchRequest(
            replica_state=ReplicaState(replica_id=3, replica_epoch=1),
            session_id=answer.session_id,
            session_epoch=1,
            forgotten_topics_data=[ForgottenTopic(topic_id=topic_id, partitions=[0, 7, -1])],
        )
        refused = client.ask(ApiKey.FETCH, stranger, 17)
        assert refused.error_code == E.FETCH_SESSION_ID_NOT_FOUND
        assert len(read_all(client, TOPIC)) == 2


def test_a_partition_named_many_times_and_then_no_more(client: RawClient, topic_id: bytes) -> None:
    asked = FetchPartition(partition=0, partition_max_bytes=1000)
    request = FetchRequest(
        replica_state=ReplicaState(replica_id=2, replica_epoch=1),
        session_epoch=0,
        max_wait_ms=50,
        topics=[FetchTopic(topic_id=topic_id, partitions=[asked] * 1000)],
    )
    first = client.ask(ApiKey.FETCH, request, 17)
    assert len(first.responses[0].partitions) == 1
    began = time.monotonic()
    for epoch in range(1, 6):
        quiet = FetchRequest(
            replica_state=ReplicaState(replica_id=2, replica_epoch=1),
            session_id=first.session_id,
            session_epoch=epoch,
            max_wait_ms=50,
            min_bytes=1,
        )
        assert client.ask(ApiKey.FETCH, quiet, 17).responses == []
    assert time.monotonic() - began >= 0.2, "what was refused once is not refused again and again"
