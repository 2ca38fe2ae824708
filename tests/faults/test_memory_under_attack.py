"""Clients that announce much and send nothing, say nothing, or take no answers: memory stays flat.

Measured from outside, on a broker in its own process, while an ordinary client goes on beside them.
"""

import resource
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.log_calls import BY_NAME, batch, create_topic, fetch_request, offset_at, produce, read_all
from tests.faults.measured_broker import BrokerProcess
from tests.faults.raw_client import DEADLINE_S, RawClient, header_bytes, wait_until
from tidelog.base.errors import ErrorCode
from tidelog.server.open_files import raise_open_file_limit
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

MIB = 1 << 20
ANNOUNCED_BYTES = 100 * MIB


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path, durability="os", connections_unread_answer_timeout_ms=60_000) as running:
        with running.connect() as client:  # what the first requests load is no growth
            create_topic(client, "t")
            works(client)
        yield running
        assert "Traceback" not in running.log_text()


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    raise_open_file_limit()
    with ExitStack() as opened:
        yield opened


def works(client: RawClient) -> None:
    end = offset_at(client, "t")
    assert produce(client, "t", batch(b"v" * 1000)).base_offset == end
    answer = client.ask(ApiKey.FETCH, fetch_request("t", end), BY_NAME)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE


def connect(broker: BrokerProcess, sockets: ExitStack, count: int) -> list[socket.socket]:
    return [
        sockets.enter_context(socket.create_connection(("127.0.0.1", broker.port), DEADLINE_S))
        for _ in range(count)
    ]


def test_300_connections_that_announce_100_mb(broker: BrokerProcess, sockets: ExitStack) -> None:
    """30 GB announced: at most 32 MiB taken. (A queue that allocates what is announced dies here.)"""
    before = broker.memory_bytes
    for sock in connect(broker, sockets, 300):
        sock.sendall(struct.pack(">i", ANNOUNCED_BYTES))
    with broker.connect() as client:
        works(client)
    assert broker.memory_bytes - before < 32 * MIB


def test_300_connections_that_send_a_part_of_100_mb(broker: BrokerProcess, sockets: ExitStack) -> None:
    """A megabyte each, of a produce request that never ends: 300 MB arrive, the cap is 256 MiB and some."""
    before = broker.memory_bytes
    begun = struct.pack(">i", ANNOUNCED_BYTES) + header_bytes(ApiKey.PRODUCE, 7)
    for sock in connect(broker, sockets, 300):
        sock.setblocking(False)
        try:
            sock.send(begun + bytes(MIB - len(begun)))
        except BlockingIOError:
            pass
    with broker.connect() as client:
        works(client)
    assert broker.memory_bytes - before < 320 * MIB


class Feeder:
    """Sends 4 MB of a frame of 100 MB on each socket, as far as the broker takes them, and then nothing."""

    def __init__(self, many: list[socket.socket]) -> None:
        begun = struct.pack(">i", ANNOUNCED_BYTES) + header_bytes(ApiKey.PRODUCE, 7)
        self._data = memoryview(begun + bytes(4 * MIB - len(begun)))
        self._sent = dict.fromkeys(many, 0)
        for sock in many:
            sock.setblocking(False)

    def feed(self) -> None:
        for sock, sent in tuple(self._sent.items()):
            try:
                self._sent[sock] += sock.send(self._data[sent : sent + 256 * 1024])
            except BlockingIOError:
                pass
            except OSError:  # the broker has closed it
                del self._sent[sock]


def test_300_connections_that_send_4_of_100_mb_and_stop(tmp_path: Path) -> None:
    """They starve nobody, they stay within the cap, the broker lets go of them, and the memory comes back."""
    half_frame_ms = 6000
    with (
        BrokerProcess(tmp_path, durability="os", connections_half_frame_timeout_ms=half_frame_ms) as broker,
        ExitStack() as attack,
    ):
        with broker.connect() as client:
            create_topic(client, "t")
            large = batch(bytes(300_000))
            for _ in range(5):
                produce(client, "t", large)
        before, files_before = broker.memory_bytes, broker.open_files
        many = connect(broker, attack, 300)
        feeder = Feeder(many)
        waits = []
        began = time.monotonic()
        while time.monotonic() - began < half_frame_ms / 2000:
            feeder.feed()
            with broker.connect() as client:
                asked = time.monotonic()
                assert produce(client, "t", large).error_code == ErrorCode.NONE
                waits.append(time.monotonic() - asked)
            assert broker.memory_bytes - before < 288 * MIB
        assert max(waits) < 3
        wait_until(lambda: broker.open_files <= files_before + 2, "half frames time out")
        wait_until(lambda: broker.memory_bytes - before < 48 * MIB, "memory comes back")
        assert "Traceback" not in broker.log_text()


def test_2000_silent_connections(broker: BrokerProcess, sockets: ExitStack) -> None:
    """At most 16 KiB for each, and everything is given back when they leave."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 4096:
        pytest.skip("this machine allows too few open files")
    before, files_before = broker.memory_bytes, broker.open_files
    with ExitStack() as many:
        connect(broker, many, 2000)
        wait_until(lambda: broker.open_files >= files_before + 1990, "2,000 connections are accepted")
        with broker.connect() as client:
            for _ in range(20):
                works(client)
        assert broker.memory_bytes - before < 2000 * 16 * 1024
    wait_until(lambda: broker.open_files <= files_before + 2, "they are closed again")


def test_a_client_that_takes_no_answers(broker: BrokerProcess, sockets: ExitStack) -> None:
    """It asks for 20 GB and reads nothing: fetched records are ranges of files, not memory."""
    with broker.connect() as client:
        for _ in range(20):
            assert produce(client, "t", batch(bytes(1_000_000))).error_code == ErrorCode.NONE
        before = broker.memory_bytes
        lazy = [sockets.enter_context(RawClient(broker.port)) for _ in range(10)]
        for each in lazy:
            each.socket.setblocking(False)
            for _ in range(100):
                try:
                    each.send_request(ApiKey.FETCH, BY_NAME, fetch_request("t", max_bytes=20 * MIB))
                except BlockingIOError:
                    break
        for _ in range(20):
            works(client)
        assert broker.memory_bytes - before < 48 * MIB
        assert len(read_all(client, "t")) > 20


def test_answers_that_are_built_in_memory_and_not_taken(broker: BrokerProcess, sockets: ExitStack) -> None:
    """Metadata of a thousand topics that do not exist, asked again and again, and never read."""
    names = [MetadataRequestTopic(name=f"{number:0200d}") for number in range(1000)]
    request = MetadataRequest(topics=names, allow_auto_topic_creation=False)
    with broker.connect() as client:
        client.ask(ApiKey.METADATA, request)
        before = broker.memory_bytes
        for _ in range(10):
            lazy = sockets.enter_context(RawClient(broker.port))
            lazy.socket.setblocking(False)
            try:
                for _ in range(200):
                    lazy.send_request(ApiKey.METADATA, 9, request)
            except BlockingIOError:
                pass
        works(client)
        assert broker.memory_bytes - before < 96 * MIB
