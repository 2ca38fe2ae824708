import pytest

from tests.rigs.connection import Room, Wire, frame
from tidelog.broker.requests.answer import LateAnswer
from tidelog.broker.requests.reply import Reply
from tidelog.server.connection.connection import SENT_LATER_BYTES_MAX, ServerConnection


def at_rest(room: Room) -> tuple[ServerConnection, Wire]:
    """A connection that has been served before."""
    connection, wire = room.connect()
    room.arrive(connection, frame(b"e"))
    room.loop.turn()
    assert wire.out == b"e"
    wire.out = b""
    return connection, wire


def test_small_answers_leave_when_everybody_has_been_read() -> None:
    room = Room()
    (one, out), (two, other) = at_rest(room), at_rest(room)
    room.arrive(one, frame(b"e1"))
    room.arrive(two, frame(b"e2"))
    room.arrive(one, frame(b"e3"))
    assert (out.out, other.out) == (b"", b"")
    room.loop.turn()
    assert (out.out, other.out) == (b"e1e3", b"e2")


def test_large_answers_leave_at_once() -> None:
    room = Room()
    connection, wire = at_rest(room)
    large = b"e" * (SENT_LATER_BYTES_MAX + 1)
    room.arrive(connection, frame(large))
    assert wire.out == large


@pytest.mark.parametrize("how", ["together", "one by one", "in pieces"])
def test_answers_keep_the_order_of_requests_when_one_comes_late(how: str) -> None:
    room = Room()
    connection, wire = at_rest(room)
    frames = [frame(body) for body in (b"e1", b"l", b"n", b"e2", b"e3")]
    pieces = {"together": [b"".join(frames)], "one by one": frames, "in pieces": list(b"".join(frames))}[how]
    for piece in pieces:
        room.arrive(connection, piece if isinstance(piece, bytes) else bytes([piece]))
        room.loop.turn()
    assert wire.out == b"e1"
    room.dispatcher.later[0].set_result(Reply([b"late"]))
    for _ in range(3):
        room.loop.turn()
    assert wire.out == b"e1latee2e3"
    room.arrive(connection, frame(b"e4"))
    room.loop.turn()
    assert wire.out == b"e1latee2e3e4"
    assert room.shared.budget.held == 0


def test_late_answers_leave_together_too() -> None:
    room = Room()
    (one, out), (two, other) = at_rest(room), at_rest(room)
    room.arrive(one, frame(b"l1"))
    room.arrive(two, frame(b"l2"))
    for late in room.dispatcher.later:
        late.set_result(Reply([b"late"]))
    room.loop.turn()
    assert (out.out, other.out) == (b"", b"")
    room.loop.turn()
    assert (out.out, other.out) == (b"late", b"late")
    assert room.shared.budget.held == 0


def test_an_answer_at_the_end_of_a_turn_leaves_at_once() -> None:
    room = Room()
    connection, wire = at_rest(room)
    late: LateAnswer[Reply] = LateAnswer()
    room.dispatcher.dispatch = lambda *_: late  # type: ignore[method-assign]
    room.arrive(connection, frame(b"fetch"))
    assert room.shared.budget.held == len(b"fetch")
    assert room.loop.turn() == 0
    late.set_result(Reply([b"records"]))
    assert wire.out == b"records"
    assert (room.shared.budget.held, wire.reading) == (0, True)


def test_after_the_last_answer_nothing_more_is_taken() -> None:
    room = Room()
    connection, wire = at_rest(room)
    room.arrive(connection, frame(b"c"))
    room.arrive(connection, frame(b"e1"))
    room.loop.turn()
    assert wire.out == b"c"
    assert wire.closed
    assert room.ended == [connection]


def test_a_client_that_reads_nothing_is_not_read_from_for_ever() -> None:
    room = Room(output_bytes_max=1000)
    connection, wire = at_rest(room)
    wire.takes = False
    for _ in range(100):
        if wire.reading:
            room.arrive(connection, frame(b"e" * 100))
            room.loop.turn()
    assert not wire.reading
    assert wire.output.pending_bytes <= 1200
    assert room.shared.budget.held == wire.output.memory_bytes


def test_one_that_no_longer_needs_to_wait_for_memory_leaves_the_line() -> None:
    """It stayed in line once, was granted room for a frame that was long there, and others fell with it."""
    room = Room(held_bytes_max=100_000)
    budget = room.shared.budget
    connection, wire = at_rest(room)
    room.arrive(connection, frame(b"l"))
    budget.change(100_000)  # somebody else takes it all
    body = b"e" * 5000
    room.arrive(connection, frame(body)[:1000])
    assert budget.waiting == 1
    budget.change(-1500)  # too little for what the frame wants, and enough to go on in small steps
    room.dispatcher.later[0].set_result(Reply([b"late"]))
    for _ in range(3):
        room.loop.turn()
    assert wire.reading
    room.arrive(connection, frame(body)[1000:])
    for _ in range(3):
        room.loop.turn()
    assert wire.out == b"late" + body
    assert budget.waiting == 0
    budget.change(-98_500)
    assert budget.held == 0


def test_a_slow_disk_is_not_taken_for_a_client_that_does_not_read() -> None:
    room = Room(unread_answer_seconds=30)
    connection, wire = at_rest(room)
    wire.takes, wire.waits_for_disk = False, True
    room.arrive(connection, frame(b"e1"))
    room.loop.turn()
    for now in range(0, 200, 10):
        connection.sweep(float(now))
    assert not wire.closed
    wire.waits_for_disk = False
    connection.sweep(200.0)
    connection.sweep(219.0)
    assert not wire.closed
    connection.sweep(231.0)
    assert wire.closed


def test_a_request_that_sees_what_was_done_before_waits_for_it() -> None:
    room = Room()
    connection, wire = at_rest(room)
    for body in (b"l", b"e1", b"o", b"e2"):
        room.arrive(connection, frame(body))
    room.loop.turn()
    assert not wire.reading  # it would only pile up
    room.dispatcher.later[0].set_result(Reply([b"late"]))
    for _ in range(3):
        room.loop.turn()
    assert wire.out == b"latee1oe2"
    assert wire.reading
    assert room.shared.budget.held == 0


def test_what_comes_behind_a_request_that_stands_alone_waits_for_it() -> None:
    room = Room()
    connection, wire = at_rest(room)
    room.arrive(connection, b"".join(frame(body) for body in (b"p", b"l", b"e")))
    assert len(room.dispatcher.later) == 1
    room.dispatcher.later[0].set_result(Reply([b"first"]))
    for _ in range(3):
        room.loop.turn()
    assert wire.out == b"first"
    room.dispatcher.later[1].set_result(Reply([b"second"]))
    for _ in range(3):
        room.loop.turn()
    assert wire.out == b"firstseconde"


def test_requests_of_another_group_wait_for_each_other_and_those_of_one_do_not() -> None:
    room = Room()
    connection, wire = at_rest(room)
    room.arrive(connection, b"".join(frame(body) for body in (b"l", b"q", b"q", b"l")))
    for under_way, text in ((1, b"a"), (3, b"b"), (3, b"c"), (4, b"d")):
        later = room.dispatcher.later
        assert len(later) == under_way
        next(each for each in later if not each.done()).set_result(Reply([text]))
        for _ in range(3):
            room.loop.turn()
    assert wire.out == b"abcd"


def test_a_request_that_was_put_off_is_counted_and_let_go_with_its_connection() -> None:
    room = Room()
    connection, _ = at_rest(room)
    room.arrive(connection, frame(b"l"))
    room.arrive(connection, frame(b"o" * 100_000))
    assert room.shared.budget.held >= 100_000
    connection.abort()
    assert room.shared.budget.held == 0


def arrive_while_read(room: Room, connection: ServerConnection, wire: Wire, data: bytes) -> bytes:
    """What is left of the data once nobody reads on."""
    while data and wire.reading:
        data = data[room.arrive_once(connection, data) :]
    return data


def test_a_large_frame_is_counted_as_announced_once_it_has_begun_in_earnest() -> None:
    room = Room(held_bytes_max=20_000_000)
    budget = room.shared.budget
    (one, _), (two, wire) = at_rest(room), at_rest(room)
    room.arrive(one, frame(b"e" * 12_000_000)[:1000])
    assert budget.held < 10_000  # whoever sends next to nothing gets next to nothing
    room.arrive(one, bytes(100_000))
    assert 12_000_000 <= budget.held < 15_000_000
    arrive_while_read(room, two, wire, frame(b"e" * 12_000_000)[:100_000])
    assert not wire.reading  # both would not fit
    assert budget.waiting == 1
    one.abort()
    assert wire.reading
    two.abort()
    assert budget.held == 0


def test_a_closed_connection_keeps_no_memory_alive() -> None:
    room = Room()
    connection, _ = at_rest(room)
    room.arrive(connection, frame(b"e" * 5_000_000)[:3_000_000])
    assert connection.begun_bytes >= 3_000_000
    connection.abort()
    assert connection.begun_bytes == 0


def test_one_that_waits_for_memory_and_whose_client_is_gone_goes_too() -> None:
    room = Room(held_bytes_max=10_000_000, half_frame_seconds=30)
    budget = room.shared.budget
    budget.change(9_000_000)
    left, stays = at_rest(room), at_rest(room)
    for connection, wire in (left, stays):
        arrive_while_read(room, connection, wire, frame(b"e" * 3_000_000)[:100_000])
    assert budget.waiting == 2
    left[1].left = True
    for connection, _ in (left, stays):
        connection.sweep(29.0)
    assert (left[1].closed, stays[1].closed) == (True, False)
    stays[0].sweep(30.0)
    assert stays[1].closed
    assert budget.held == 9_000_000


def test_one_that_gives_back_the_memory_it_waits_for_reads_on() -> None:
    """Its own answer made room for its next frame, and it stopped reading with that room in its hands."""
    room = Room(held_bytes_max=10_000_000)
    budget = room.shared.budget
    connection, wire = at_rest(room)
    room.arrive(connection, frame(b"l" * 6_000_000))
    body = b"e" * 6_000_000
    rest = arrive_while_read(room, connection, wire, frame(body))
    assert budget.waiting == 1
    assert not wire.reading
    room.dispatcher.later[0].set_result(Reply([b"late"]))
    for _ in range(3):
        room.loop.turn()
    assert budget.waiting == 0
    assert wire.reading
    room.arrive(connection, rest)
    for _ in range(3):
        room.loop.turn()
    assert wire.out == b"late" + body
    assert budget.held == 0


@pytest.mark.parametrize("how", ["eof_received", "abort"])
def test_state_that_ends_with_the_connection_hears_of_its_end_once(how: str) -> None:
    room = Room()
    connection, _ = at_rest(room)
    ended: list[int] = []
    connection.client.on_closed = ended.append
    getattr(connection, how)()
    connection.connection_lost(None)
    assert ended == [connection.client.connection_id]
