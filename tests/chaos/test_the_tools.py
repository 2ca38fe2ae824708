"""The tools of the chaos tests themselves: links that can be cut, and checks that can fail."""

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.link_proxy import source_of
from tests.chaos.peer_links import HOST, PeerLinks, free_ports
from tests.chaos.recorded_clients import Record
from tests.chaos.replica_files import differing_replicas
from tests.chaos.small_disk import NoSmallDisk, SmallDisk
from tidelog.testing.checkers import check
from tidelog.testing.history import Completion, Operation, Read, Sent
from tidelog.wire.record import Record as LogRecord
from tidelog.wire.record import write_batch

SOON_S = 10.0
SILENCE_S = 0.3
"""Long enough for a byte to arrive, if it were on its way."""


class Echo(threading.Thread):
    """Stands for broker 2: sends back whatever comes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server((HOST, 0))
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    @staticmethod
    def _answer(connection: socket.socket) -> None:
        try:
            while data := connection.recv(1000):
                connection.sendall(data)
        except OSError:
            pass


@pytest.fixture
def links() -> Iterator[PeerLinks]:
    made = PeerLinks()
    yield made
    made.close()


@pytest.fixture
def call(links: PeerLinks) -> Iterator[socket.socket]:
    """A connection of broker 1 to broker 2, over which the first request has gone."""
    echo = Echo()
    with socket.create_connection((HOST, links.add(2, echo.port)), SOON_S) as made:
        made.sendall(request_of(b"broker-1"))
        assert made.recv(1000) == request_of(b"broker-1")
        yield made
    echo.socket.close()


def request_of(client_id: bytes) -> bytes:
    return struct.pack(">ihhih", 10 + len(client_id), 1, 17, 7, len(client_id)) + client_id


def nothing_comes(connection: socket.socket) -> bool:
    connection.settimeout(SILENCE_S)
    try:
        connection.recv(1000)
    except TimeoutError:
        return True
    finally:
        connection.settimeout(SOON_S)
    return False


def has_ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1000) == b""
    except ConnectionResetError:
        return True


def test_a_caller_is_known_by_its_client_id() -> None:
    assert source_of(request_of(b"broker-12")) == 12
    assert source_of(request_of(b"rdkafka")) == 0


@pytest.mark.parametrize(("sources", "targets"), [([1], [2]), ([2], [1])])
def test_what_is_cut_arrives_late(
    links: PeerLinks, call: socket.socket, sources: list[int], targets: list[int]
) -> None:
    """Requests on their way there, or answers on their way back."""
    links.cut_one_way(sources, targets)
    call.sendall(b"hello")
    assert nothing_comes(call)
    links.mend()
    assert call.recv(1000) == b"hello"


def test_other_links_stay(links: PeerLinks, call: socket.socket) -> None:
    links.cut([3], [1, 2])
    call.sendall(b"hello")
    assert call.recv(1000) == b"hello"


def test_a_long_cut_ends_connections(links: PeerLinks, call: socket.socket) -> None:
    links.cut([1], [2])
    call.sendall(b"hello")
    assert nothing_comes(call)
    links.mend(reset=True)
    assert has_ended(call)


def test_ports_are_not_those_of_outgoing_connections() -> None:
    [first, second] = free_ports(2)
    assert first != second
    with socket.create_server((HOST, first)), socket.create_connection((HOST, first)) as client:
        assert client.getsockname()[1] > 32_000


def test_a_disk_that_is_filled_and_freed(tmp_path: Path) -> None:
    try:
        disk = SmallDisk(tmp_path / "disk", megabytes=1)
    except NoSmallDisk as reason:
        pytest.skip(str(reason))
    try:
        disk.fill()
        with pytest.raises(OSError, match="No space"):
            (disk.path / "x").write_bytes(b"x")
        disk.free()
        (disk.path / "x").write_bytes(bytes(500_000))
        assert not list((tmp_path / "disk").iterdir()), "nobody else sees it"
    finally:
        disk.remove()


def test_replicas_that_differ(tmp_path: Path) -> None:
    def segment(broker: str, base: int, *batches: bytes) -> None:
        directory = tmp_path / broker / "t-0"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{base:020}.log").write_bytes(b"".join(batches))

    def batch(offset: int, value: bytes, epoch: int = 0) -> bytes:
        records = [LogRecord(offset, 1, None, value)]
        return bytes(write_batch(records, base_offset=offset, leader_epoch=epoch))

    first, second = batch(0, b"a"), batch(1, b"b")
    segment("one", 0, first, second)
    segment("two", 0, first)
    segment("two", 1, second)
    directories = [tmp_path / "one", tmp_path / "two"]
    assert not list(differing_replicas(directories, "t-0")), "segments may be cut differently"
    segment("two", 1, batch(1, b"x"))
    assert "at byte" in next(differing_replicas(directories, "t-0"))
    segment("two", 1, batch(1, b"b", epoch=2))
    assert list(differing_replicas(directories, "t-0"))
    segment("two", 1)
    assert "in length" in next(differing_replicas(directories, "t-0"))


def test_a_lost_record_is_found_in_a_history_of_clients() -> None:
    record = Record()
    for number, offset in ((0, 0), (1, 1), (2, 2)):
        sent = Sent("t-0", f"p1-{number}", offset)
        record.add(Operation("p1", "send", Completion.OK, number, number + 0.1, sent=[sent]))
    read = [Read("t-0", 0, "p1-0"), Read("t-0", 2, "p1-2")]
    record.add(Operation("c1", "poll", started=4, ended=5, read=read))
    assert {anomaly.rule for anomaly in check(record.history)} == {"lost write", "internal poll skip"}
