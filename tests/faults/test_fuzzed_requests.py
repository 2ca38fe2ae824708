"""Every API and version that the broker offers: random requests, nearly right ones, flipped bits, cut ends.

The broker answers or closes the connection, logs no traceback, and afterwards holds no more connections and
memory than before.
"""

import gc
import random
import zlib
from collections.abc import Iterator

import psutil
import pytest

from tests.faults.fuzzed_frames import Target, frames
from tests.faults.log_calls import batch, create_topic, produce, read_all
from tests.faults.raw_client import Closed, RawClient, request_bytes, wait_until
from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers import HANDLERS
from tidelog.testing import Broker
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.usefixtures("no_failures")

REQUESTS_EACH = 15  # of each version and kind
MEMORY_GROWTH_MAX = 48 << 20

PROBE = request_bytes(ApiKey.METADATA, 1, MetadataRequest(topics=[]), number=0x7EADBEEF)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Members may have sessions of a moment: nobody waits long for one that never was there."""
    settings = {"auto.create.topics.enable": False, "group.min.session.timeout.ms": 1}
    with Broker(settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def target(broker: Broker) -> Target:
    with RawClient(broker.port) as client:
        return Target(client)


@pytest.mark.parametrize("key", sorted(HANDLERS), ids=lambda key: API[key].name)
def test_random_and_damaged_requests(broker: Broker, target: Target, key: ApiKey) -> None:
    rng = random.Random(zlib.crc32(API[key].name.encode()))
    client = RawClient(broker.port)
    try:
        for frame in frames(key, target, rng, REQUESTS_EACH):
            if not _is_survived(client, frame):
                client.socket.close()
                client = RawClient(broker.port)
    finally:
        client.socket.close()


def test_the_broker_is_as_it_was(broker: Broker, target: Target, client: RawClient) -> None:
    """Runs last in this file, on the broker that all of the above was sent to; then does it all again."""
    process = psutil.Process()
    wait_until(lambda: _connections_to(broker, process) == 1, "only our own connection is left")
    gc.collect()
    before = process.memory_info().rss
    rng = random.Random(99)
    for key in sorted(HANDLERS):
        with RawClient(broker.port) as other:
            for frame in frames(key, target, rng, REQUESTS_EACH):
                if not _is_survived(other, frame):
                    break
    gc.collect()
    assert process.memory_info().rss - before < MEMORY_GROWTH_MAX
    # Some of that took the broker out of its cluster, as an operator may: it registers itself again.
    wait_until(lambda: _is_created(client, "after-the-storm"), "topics can be created")
    assert produce(client, "after-the-storm", batch(b"calm")).error_code == ErrorCode.NONE
    assert [record.value for record in read_all(client, "after-the-storm")] == [b"calm"]


def _is_created(client: RawClient, name: str) -> bool:
    try:
        create_topic(client, name)
    except AssertionError:
        return False
    return True


def _connections_to(broker: Broker, process: psutil.Process) -> int:
    return sum(
        1
        for connection in process.net_connections("tcp")
        if connection.laddr.port == broker.port and connection.status != psutil.CONN_LISTEN
    )


def _is_survived(client: RawClient, frame: bytes) -> bool:
    """Send a frame and then a question that is always answered; False if the connection was closed."""
    try:
        client.send(frame)
        client.send(PROBE)
        while client.receive()[:4] != b"\x7e\xad\xbe\xef":
            pass
    except Closed:
        return False
    return True
