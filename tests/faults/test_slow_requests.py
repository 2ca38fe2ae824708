"""Slow requests of a real client in the broker's log, with and without metrics."""

import logging

import pytest

from tests.faults.raw_client import RawClient
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.metadata import MetadataRequest

LOGGER = "tidelog.broker.slow_requests"


@pytest.mark.parametrize("port", [0, -1])
def test_a_request_that_takes_too_long_is_logged(port: int, caplog: pytest.LogCaptureFixture) -> None:
    """A new topic waits for the disk, and so takes longer than one millisecond."""
    settings = {"log.slow.requests.ms": 1, "metrics.port": port, "durability": "fsync"}
    with (
        caplog.at_level(logging.WARNING, LOGGER),
        Broker(settings=settings) as broker,
        RawClient(broker.port) as client,
    ):
        topic = CreatableTopic(name="orders", num_partitions=20, replication_factor=1)
        client.ask(ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[topic], timeout_ms=9000))
        [line] = [one for one in caplog.messages if one.startswith("slow request: CreateTopics")]
        assert f"User:ANONYMOUS, {client.address} on PLAINTEXT" in line


def test_no_request_is_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, LOGGER), Broker() as broker, RawClient(broker.port) as client:
        client.ask(ApiKey.METADATA, MetadataRequest(topics=None))
    assert not [one for one in caplog.records if one.name == LOGGER]
