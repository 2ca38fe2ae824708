"""From busy to closed: what a connection still takes, answers and reads in each of its states."""

from tests.rigs.connection import Room, Wire, frame
from tidelog.broker.requests.reply import Reply
from tidelog.server.connection.connection import ServerConnection
from tidelog.server.connection.state import ConnectionState


def state(connection: ServerConnection) -> ConnectionState:
    return connection._state


def served(room: Room) -> tuple[ServerConnection, Wire]:
    connection, wire = room.connect()
    assert state(connection) is ConnectionState.BUSY
    room.arrive(connection, frame(b"e"))
    room.loop.turn()
    assert state(connection) is ConnectionState.AT_REST
    return connection, wire


def test_a_connection_rests_between_requests_and_is_busy_while_one_is_under_way() -> None:
    room = Room()
    connection, wire = served(room)
    room.arrive(connection, frame(b"l"))
    assert state(connection) is ConnectionState.BUSY
    room.dispatcher.later[0].set_result(Reply([b"late"]))
    for _ in range(3):
        room.loop.turn()
    assert state(connection) is ConnectionState.AT_REST
    assert wire.reading


def test_half_a_frame_keeps_it_busy() -> None:
    room = Room()
    connection, _ = served(room)
    room.arrive(connection, frame(b"e1")[:3])
    assert state(connection) is ConnectionState.BUSY
    room.arrive(connection, frame(b"e1")[3:])
    room.loop.turn()
    assert state(connection) is ConnectionState.AT_REST


def test_draining_answers_what_is_under_way_and_takes_nothing_new() -> None:
    room = Room()
    connection, wire = served(room)
    room.arrive(connection, frame(b"l"))
    connection.finish()
    assert state(connection) is ConnectionState.DRAINING
    room.arrive(connection, frame(b"e2"))
    room.loop.turn()
    assert not wire.reading
    room.dispatcher.later[0].set_result(Reply([b"late"]))
    for _ in range(3):
        room.loop.turn()
    assert wire.out == b"elate"
    assert state(connection) is ConnectionState.CLOSED
    assert room.shared.budget.held == 0


def test_lingering_reads_on_and_drops_what_arrives_until_its_time_is_up() -> None:
    room = Room(linger_seconds=2.0)
    connection, wire = served(room)
    wire.has_more = True
    connection.finish()
    room.loop.turn()
    assert state(connection) is ConnectionState.LINGERING
    assert wire.reading
    room.arrive(connection, frame(b"e2"))
    room.loop.turn()
    assert wire.out == b"e"
    connection.sweep(1.9)
    assert not wire.closed
    connection.sweep(2.0)
    assert wire.closed
    assert state(connection) is ConnectionState.CLOSED


def test_a_closed_connection_stays_closed() -> None:
    room = Room()
    connection, wire = served(room)
    connection.abort()
    connection.finish()
    connection.wake()
    connection.send()
    room.loop.turn()
    assert state(connection) is ConnectionState.CLOSED
    assert room.ended == [connection]
    assert wire.out == b"e"
