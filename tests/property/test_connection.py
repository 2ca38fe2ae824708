"""Whatever comes, in whichever pieces, from several clients at once: each gets its answers, in order."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rigs.connection import Room, Wire, frame
from tidelog.broker.requests.reply import Reply
from tidelog.server.connection.connection import SENT_LATER_BYTES_MAX, ServerConnection

CLIENTS = 3
LARGE = SENT_LATER_BYTES_MAX + 1
NOT_ITSELF = {b"n": b"", b"l": b"late", b"w": b"late", b"p": b"late", b"q": b"late"}

requests = st.one_of(
    st.integers(1, 60).map(lambda size: b"e" * size),
    st.just(b"n"),
    st.just(b"l"),
    st.just(b"w"),  # late, and its answer leaves in the callback that completes it
    st.just(b"p"),  # late, and it overlaps with no other
    st.just(b"q"),  # late, and it overlaps with its kind only
    st.integers(1, 60).map(lambda size: b"o" * size),
    st.just(b"e" * LARGE),
    st.just(b"e" * 200_000),  # received into a buffer of its own
    st.just(b"e" + frame(b"ex")),  # its end looks like a request
)
conversations = st.lists(st.lists(requests, min_size=3, max_size=15), min_size=CLIENTS, max_size=CLIENTS)
# Bytes of a client arrive, the loop turns, a late answer comes, a client reads or stops reading.
steps = st.one_of(
    st.tuples(st.just("arrive"), st.integers(0, CLIENTS - 1), st.sampled_from([1, 5, 9, 64, 5000, 50_000])),
    *[st.tuples(st.just("whole frame"), st.integers(0, CLIENTS - 1), st.just(0))] * 3,
    st.tuples(st.just("turn"), st.just(0), st.just(0)),
    st.tuples(st.just("answer"), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("stop or go"), st.integers(0, CLIENTS - 1), st.just(0)),
)


class Conversation:
    def __init__(self, room: Room, bodies: list[bytes]) -> None:
        self._room = room
        self.connection: ServerConnection
        self.wire: Wire
        self.connection, self.wire = room.connect()
        self._ends = [0]
        self._bytes = b"".join(map(frame, bodies))
        for body in bodies:
            self._ends.append(self._ends[-1] + 4 + len(body))
        self._sent = 0
        self.expected = b"".join(NOT_ITSELF.get(body, body) for body in bodies)

    @property
    def is_over(self) -> bool:
        return self._sent == len(self._bytes)

    def arrive(self, count: int) -> None:
        """As much as the connection takes while it reads."""
        stop = min(len(self._bytes), self._sent + count)
        while self.wire.reading and self._sent < stop:
            self._sent += self._room.arrive_once(self.connection, self._bytes[self._sent : stop])

    def arrive_whole(self) -> None:
        self.arrive(min((end for end in self._ends if end > self._sent), default=self._sent) - self._sent)


@settings(max_examples=150)
@given(conversations, st.lists(steps, max_size=80))
def test_every_client_gets_its_answers_in_order(
    bodies: list[list[bytes]], plan: list[tuple[str, int, int]]
) -> None:
    room = Room(output_bytes_max=20_000, in_flight_max=4, requests_per_turn=3)
    clients = [Conversation(room, each) for each in bodies]
    later = room.dispatcher.later

    def answer(number: int) -> None:
        open_ones = [future for future in later if not future.done()]
        if open_ones:
            open_ones[number % len(open_ones)].set_result(Reply([b"late"]))

    for what, number, count in plan:
        if what == "arrive":
            clients[number].arrive(count)
        elif what == "whole frame":
            clients[number].arrive_whole()
        elif what == "answer":
            answer(number)
        elif what == "stop or go":
            wire = clients[number].wire
            wire.takes = not wire.takes
            if wire.takes:
                clients[number].connection.wake()
        else:
            room.loop.turn()
            queued = sum(client.wire.output.memory_bytes for client in clients)
            assert queued <= room.shared.budget.held + CLIENTS * SENT_LATER_BYTES_MAX
        for client in clients:
            assert client.expected.startswith(client.wire.out)
    for client in clients:
        client.wire.takes = True
        client.connection.wake()
    for number in range(2000):  # until nothing moves any more
        for client in clients:
            client.arrive_whole()
        room.loop.turn()
        if number % 3 == 2:
            answer(number)
        if all(client.is_over and client.wire.out == client.expected for client in clients):
            break
    room.loop.turn()
    assert [client.wire.out for client in clients] == [client.expected for client in clients]
    assert room.shared.budget.held == 0
    assert all(client.wire.reading for client in clients)
