"""A broker whose limit of open files is low: clients are refused first, and no record is lost."""

import contextlib
import socket
from collections.abc import Iterator

import pytest

from tests.chaos.victim import PATIENCE_S, Victim, wait_until
from tests.faults.log_calls import batch, create_topic, produce, read_all
from tests.faults.odd_requests import E
from tests.faults.raw_client import Closed, RawClient
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest
from tidelog.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.timeout(200)

LIMIT = 160
SMALL_SEGMENTS = "16384"
VALUE = bytes(4000)


class FewFiles(Victim):
    def _wrapper(self) -> list[str]:
        return ["sh", "-c", f'ulimit -n {LIMIT}; exec "$@"', "sh"]


@pytest.fixture
def broker(tmp_path) -> Iterator[FewFiles]:
    made = FewFiles(tmp_path / "broker", {"log.retention.check.interval.ms": 500})
    made.start()
    yield made
    made.kill()


def values(client: RawClient, topic: str) -> list[bytes | None]:
    return [record.value for record in read_all(client, topic)]


def answers(broker: Victim) -> bool:
    with contextlib.suppress(OSError, Closed), RawClient(broker.port) as client:
        client.ask(ApiKey.METADATA, MetadataRequest(topics=None))
        return True
    return False


def test_clients_leave_descriptors_for_the_disk(broker: FewFiles) -> None:
    with RawClient(broker.port) as client, contextlib.ExitStack() as flood:
        create_topic(client, "t", segment_bytes=SMALL_SEGMENTS)
        for _ in range(2 * LIMIT):
            flood.enter_context(socket.create_connection(("127.0.0.1", broker.port)))
        wait_until(lambda: "keeps the rest of its limit" in broker.log_text(), broker.log_tail, PATIENCE_S)
        sent = []
        for number in range(60):  # a segment holds four
            value = number.to_bytes(4, "big") + VALUE
            assert E(produce(client, "t", batch(value)).error_code) is E.NONE
            sent.append(value)
        assert values(client, "t") == sent
        create_topic(client, "new")
        assert E(produce(client, "new", batch(b"v")).error_code) is E.NONE
        flood.close()
        wait_until(lambda: answers(broker), broker.log_tail, PATIENCE_S)
        assert values(client, "t") == sent
    assert "Too many open files" not in broker.log_text()


def test_more_partitions_than_descriptors(broker: FewFiles) -> None:
    """The broker itself runs out of them, and goes on once a topic is deleted."""
    with RawClient(broker.port) as client:
        create_topic(client, "t", segment_bytes=SMALL_SEGMENTS)
        assert E(produce(client, "t", batch(b"first")).error_code) is E.NONE
        create_topic(client, "large", partitions=LIMIT)
        wait_until(
            lambda: "the rest of the limit is reserved" in broker.log_text(), broker.log_tail, PATIENCE_S
        )
        acknowledged = [b"first"]
        for number in range(40):
            value = number.to_bytes(4, "big") + VALUE
            if not produce(client, "t", batch(value)).error_code:
                acknowledged.append(value)
        client.ask(ApiKey.DELETE_TOPICS, DeleteTopicsRequest(topic_names=["large"]), 3)
        wait_until(lambda: not produce(client, "t", batch(b"last")).error_code, broker.log_tail, PATIENCE_S)
        wait_until(lambda: answers(broker), broker.log_tail, PATIENCE_S)
        create_topic(client, "small")
        wait_until(lambda: not produce(client, "small", batch(b"v")).error_code, broker.log_tail, PATIENCE_S)
        assert values(client, "t") == [*acknowledged, b"last"]
    broker.kill()
    broker.start()
    with RawClient(broker.port) as client:
        assert values(client, "t") == [*acknowledged, b"last"]
    assert "Traceback" not in broker.log_text()
