"""Under `fsync`, on one replica: what was acknowledged is there for whoever asks next, whatever its acks."""

from collections.abc import Iterator

import pytest

from tests.faults.log_calls import (
    BY_NAME,
    EARLIEST,
    batch,
    create_topic,
    fetch_request,
    offset_at,
    produce,
    produce_request,
)
from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)

pytestmark = pytest.mark.usefixtures("no_failures")

TRIES = 100
HIGH_WATERMARK = -1


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"durability": "fsync", "auto.create.topics.enable": False}) as running:
        yield running


@pytest.fixture
def reader(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.port) as connected:
        yield connected


def test_the_end_of_the_log(client: RawClient, reader: RawClient) -> None:
    create_topic(client, "end")
    for number in range(1, TRIES + 1):
        assert produce(client, "end", batch(b"v"), acks=1).base_offset == number - 1
        assert offset_at(reader, "end") == number


def test_the_end_of_the_log_without_acks(client: RawClient) -> None:
    create_topic(client, "no-acks")
    for number in range(1, TRIES + 1):
        client.send_request(ApiKey.PRODUCE, BY_NAME, produce_request("no-acks", batch(b"v"), acks=0))
        assert offset_at(client, "no-acks") == number


@pytest.mark.parametrize("before", ["all", "a number"])
def test_records_can_be_deleted(client: RawClient, reader: RawClient, before: str) -> None:
    topic = "delete-" + before.replace(" ", "-")
    create_topic(client, topic)
    for number in range(1, TRIES + 1):
        produce(client, topic, batch(b"v"), acks=1)
        asked = DeleteRecordsPartition(
            partition_index=0, offset=HIGH_WATERMARK if before == "all" else number
        )
        topics = [DeleteRecordsTopic(name=topic, partitions=[asked])]
        answer = reader.ask(ApiKey.DELETE_RECORDS, DeleteRecordsRequest(topics=topics, timeout_ms=5000))
        [deleted] = answer.topics[0].partitions
        assert (deleted.error_code, deleted.low_watermark) == (ErrorCode.NONE, number)
    assert offset_at(reader, topic, EARLIEST) == TRIES


def test_a_fetch_that_does_not_wait(client: RawClient, reader: RawClient) -> None:
    create_topic(client, "fetched")
    for number in range(TRIES):
        produce(client, "fetched", batch(b"v"), acks=1)
        answer = reader.ask(ApiKey.FETCH, fetch_request("fetched", number), BY_NAME)
        assert answer.responses[0].partitions[0].records
