"""The limits of one HTTP connection, by a clock and a transport that the test controls."""

import asyncio
from typing import Any

import pytest

from tidelog.server.http.connection import HttpConnection
from tidelog.server.http.limits import HttpLimits

LIMITS = HttpLimits(head_seconds=10, answer_seconds=60, head_bytes_max=100, body_bytes_max=50)


class Transport:
    def __init__(self) -> None:
        self.unsent = 0
        self.is_aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True


class Http(asyncio.Protocol):
    """Takes everything; refuses one byte as h11 refuses some nonsense."""

    def __init__(self) -> None:
        self.pieces: list[int] = []

    def data_received(self, data: bytes) -> None:
        self.pieces.append(len(data))
        if data == b"!":
            raise ValueError("nonsense")


class Rig:
    limits = LIMITS

    def __init__(self) -> None:
        self.now = 0.0
        self.complaints: list[str] = []
        self.transport: Any = Transport()
        self.http = Http()
        self.connection = HttpConnection(self, ("192.0.2.1", 50_000), lambda: self.now, lambda _: self.http)
        self.connection.connection_made(self.transport)

    def failed(self, connection: HttpConnection, what: str) -> None:
        self.complaints.append(what)

    def ended(self, connection: HttpConnection) -> None: ...

    def at(self, seconds: float) -> bool:
        """Whether the connection has ended by then."""
        self.now = seconds
        self.connection.sweep(seconds)
        return bool(self.transport.is_aborted)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_silent_client_is_closed(rig: Rig) -> None:
    assert not rig.at(10)
    assert rig.at(10.1)
    assert rig.complaints == ["sent no whole request within 10 s"]


def test_bytes_that_trickle_in_win_no_time(rig: Rig) -> None:
    for second in range(10):
        rig.now = second
        rig.connection.data_received(b"G")
    assert rig.at(10.1)


def test_after_an_answer_the_client_has_time_until_it_begins_the_next_request(rig: Rig) -> None:
    rig.now = 5
    rig.connection.request_begins()
    rig.connection.request_ends()
    assert rig.connection.is_idle
    assert not rig.at(500)  # uvicorn ends idle connections itself
    rig.connection.data_received(b"G")
    assert not rig.connection.is_idle
    assert not rig.at(510)
    assert rig.at(510.1)


def test_an_answer_that_is_not_read_ends_the_connection(rig: Rig) -> None:
    rig.connection.request_begins()
    assert not rig.at(60)
    assert rig.at(60.1)


def test_an_answer_is_complete_when_the_kernel_has_it(rig: Rig) -> None:
    rig.connection.request_begins()
    rig.transport.unsent = 5
    rig.connection.request_ends()
    assert not rig.connection.is_idle
    assert rig.at(60.1)


@pytest.mark.parametrize(("count", "ends"), [(150, False), (151, True)])
def test_a_request_has_a_size(rig: Rig, count: int, ends: bool) -> None:
    for _ in range(count):
        rig.connection.data_received(b"G")
    assert rig.transport.is_aborted is ends


def test_each_request_of_a_connection_has_the_whole_size(rig: Rig) -> None:
    for _ in range(3):
        rig.connection.data_received(b"G" * 100)
        rig.connection.request_begins()
        rig.connection.request_ends()
    assert not rig.transport.is_aborted


def test_a_head_comes_in_pieces_of_its_limit_and_a_body_as_it_is(rig: Rig) -> None:
    rig.connection.data_received(b"G" * 120)
    rig.connection.request_begins()
    rig.connection.data_received(b"b" * 120)
    assert rig.http.pieces == [100, 20, 120]


def test_nonsense_ends_the_connection_and_nothing_else(rig: Rig) -> None:
    rig.connection.data_received(b"!")
    assert rig.transport.is_aborted
    assert rig.complaints == ["sent something that is no HTTP: nonsense"]


def test_a_client_that_leaves_takes_its_request_with_it(rig: Rig) -> None:
    given_up: list[bool] = []
    rig.connection.request_begins(lambda: given_up.append(True))
    rig.connection.request_ends()
    rig.connection.request_begins(lambda: given_up.append(True))
    rig.connection.connection_lost(None)
    assert given_up == [True]
