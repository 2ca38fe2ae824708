"""Every API and version that the broker offers, with random contents, flipped bits and cut ends.

Half of the names and ids are real ones, so that requests get past the first check. The broker answers or
closes the connection, logs no traceback, and afterwards holds no more connections and memory than before.
"""

import gc
import random
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
import psutil
import pytest
from log_calls import batch, create_topic, produce, read_all
from raw_client import Closed, RawClient, request_bytes, versions, wait_until

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers import HANDLERS
from tidelog.testing import Broker
from tidelog.testing.random_messages import any_number, random_message
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.messages.metadata import MetadataRequest
from tidelog.wire.schema import Field

pytestmark = pytest.mark.usefixtures("no_failures")

REQUESTS_EACH = 15  # random ones of each version, and as many damaged ones
MEMORY_GROWTH_MAX = 48 << 20

TOPICS = ["fuzz-a", "fuzz-b"]
NAME_FIELDS = {"name", "topic", "topic_name", "resource_name"}
INDEX_FIELDS = {"index", "partition", "partition_index"}
WAITS = {"max_wait_ms", "timeout_ms"}
# Fetch tells how long it may wait in bytes that are therefore left alone: a wait is no fault.
FIRST_DAMAGED = {ApiKey.FETCH: 32}

PROBE = request_bytes(ApiKey.METADATA, 1, MetadataRequest(topics=[]), number=0x7EADBEEF)


@pytest.fixture(scope="module")
def ids(broker: Broker) -> list[bytes]:
    with RawClient(broker.port) as client:
        return [create_topic(client, name, 2) for name in TOPICS]


@pytest.mark.parametrize("key", sorted(HANDLERS), ids=lambda key: API[key].name)
def test_random_and_damaged_requests(broker: Broker, ids: list[bytes], key: ApiKey) -> None:
    rng = random.Random(zlib.crc32(API[key].name.encode()))
    client = RawClient(broker.port)
    try:
        for frame in _frames(key, ids, rng):
            if not _is_survived(client, frame):
                client.socket.close()
                client = RawClient(broker.port)
    finally:
        client.socket.close()


def test_the_broker_is_as_it_was(broker: Broker, client: RawClient) -> None:
    """Runs last in this file, on the broker that all of the above was sent to; then does it all again."""
    process = psutil.Process()
    wait_until(lambda: _connections_to(broker, process) == 1, "only our own connection is left")
    gc.collect()
    before = process.memory_info().rss
    rng = random.Random(99)
    for key in sorted(HANDLERS):
        with RawClient(broker.port) as other:
            for frame in _frames(key, [bytes(16)], rng):
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


def _frames(key: ApiKey, ids: list[bytes], rng: random.Random) -> Iterator[bytes]:
    for version in versions(key):
        for number in range(2 * REQUESTS_EACH):
            message = random_message(API[key].request_class(), version, rng, number=_short_waits)
            _aim(message, ids, rng)
            frame = bytearray(request_bytes(key, version, message))
            if number % 2:
                _damage(frame, FIRST_DAMAGED.get(key, 14), rng)
            yield bytes(frame)


def _short_waits(field: Field, rng: random.Random) -> int | float:
    return rng.choice((-1, 0, 5, -(2**31))) if field.name in WAITS else any_number(field, rng)


def _aim(message: Any, ids: list[bytes], rng: random.Random) -> None:
    """Put names and ids of real topics and partitions in some places, and whole batches."""
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, msgspec.Struct):
                    _aim(item, ids, rng)
        elif rng.random() < 0.5:
            if name in NAME_FIELDS and isinstance(value, str):
                setattr(message, name, rng.choice(TOPICS))
            elif name == "topic_id" and value is not None:
                setattr(message, name, rng.choice(ids))
            elif name in INDEX_FIELDS:
                setattr(message, name, rng.randint(0, 2))
            elif name == "records":
                setattr(message, name, batch(rng.randbytes(20), b"two", codec=rng.randrange(5)))
            elif name == "acks":
                setattr(message, name, rng.choice((-1, 1)))


def _damage(frame: bytearray, first: int, rng: random.Random) -> None:
    """In its body: what lies in front is the business of other tests. The size still fits."""
    at = rng.randrange(min(first, len(frame) - 1), len(frame))
    match rng.randrange(3):
        case 0:
            for _ in range(rng.randint(1, 4)):
                frame[rng.randrange(min(at, len(frame) - 1), len(frame))] ^= 1 << rng.randrange(8)
        case 1:
            del frame[at:]
        case 2:
            frame[at:at] = rng.randbytes(rng.randint(1, 8))
    frame[:4] = (len(frame) - 4).to_bytes(4, "big")
