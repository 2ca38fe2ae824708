"""When a client gives up, and why: what librdkafka said, and what the listener speaks."""

import itertools
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from tidelog import AuthenticationFailed, ConnectionFailed, RequestTimedOut, UnknownTopic
from tidelog.blocking.addresses import addresses_of
from tidelog.clients.connection import PROBE_AGAIN_S, REFUSAL_HOLDS_S, SLICE_S, Connection
from tidelog.clients.listener_probe import Listener, find_listener
from tidelog.clients.trouble import in_words

ALL_DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN)
WRONG_PASSWORD = KafkaError(
    KafkaError._AUTHENTICATION, "sasl_ssl://a:1/bootstrap: no such user (after 3ms in state X)"
)
GONE = KafkaError(
    KafkaError._TRANSPORT,
    "a:1/bootstrap: Connect to a:1 failed: Connection refused (after 0ms in state CONNECT)",
)

LATE = RequestTimedOut("It took too long.")


class World:
    """Listeners by address, and a clock."""

    def __init__(self, *listeners: Listener) -> None:
        self.listeners = {listener.address: listener for listener in listeners}
        self.looks = 0
        self.time = 100.0

    def find(self, host: str, port: int) -> Listener | None:
        self.looks += 1
        return self.listeners.get(f"{host}:{port}")

    def connection(self, protocol: str = "plaintext", servers: str = "a:1,b:2") -> Connection:
        return Connection(
            servers, protocol, find=self.find, now=lambda: self.time, start=lambda probe: probe()
        )


def test_nothing_is_asked_while_a_broker_may_come() -> None:
    world = World(Listener("a:1", is_tls=True))
    connection = world.connection()
    connection.heard(GONE)
    connection.check()
    assert world.looks == 0
    connection.heard(ALL_DOWN)
    with pytest.raises(ConnectionFailed, match="a:1 speaks TLS, but the client speaks plain text"):
        connection.check()


def test_nobody_waits_for_a_listener_unless_a_request_has_failed() -> None:
    world, probes = World(Listener("a:1", is_tls=True)), list[Callable[[], None]]()
    connection = Connection("a:1", find=world.find, now=lambda: world.time, start=probes.append)
    connection.heard(ALL_DOWN)
    connection.check()
    assert connection.explained(LATE, may_wait=False) is LATE
    [probe] = probes
    probe()
    with pytest.raises(ConnectionFailed):
        connection.check()
    assert connection.explained(LATE) is not LATE


class Told:
    def __init__(self) -> None:
        self.times = 0

    def hear(self) -> None:
        self.times += 1


def test_a_producer_is_told_when_it_turns_out() -> None:
    connection, told = World(Listener("a:1", is_tls=True)).connection(), Told()
    connection.tell(told.hear)
    connection.heard(GONE)
    assert told.times == 0
    connection.heard(ALL_DOWN)
    assert told.times == 1


def test_one_listener_that_fits_is_enough() -> None:
    connection = World(Listener("a:1", is_tls=True), Listener("b:2", is_tls=False)).connection()
    connection.heard(ALL_DOWN)
    connection.check()


def test_a_client_that_had_its_broker_lives_through_everything() -> None:
    world = World(Listener("a:1", is_tls=True))
    connection = world.connection()
    connection.reached = True
    connection.heard(ALL_DOWN)
    connection.heard(WRONG_PASSWORD)
    connection.check()
    assert world.looks == 0


def test_a_wrong_password_is_told_in_librdkafka_s_words_until_it_is_right() -> None:
    world = World()
    connection = world.connection("sasl_ssl")
    connection.heard(WRONG_PASSWORD)
    connection.heard(ALL_DOWN)
    with pytest.raises(AuthenticationFailed, match="does not let the client in: a:1: no such user"):
        connection.check()
    world.time += REFUSAL_HOLDS_S + 1
    connection.check()


def test_the_listener_is_asked_again_after_a_while() -> None:
    world = World(Listener("a:1", is_tls=True))
    connection = world.connection()
    connection.heard(ALL_DOWN)
    assert connection.trouble() is not None
    world.listeners["a:1"] = Listener("a:1", is_tls=False)
    assert connection.trouble() is not None
    assert world.looks == 2
    world.time += PROBE_AGAIN_S
    assert connection.trouble() is None


@pytest.mark.parametrize(
    ("listener", "fitting"),
    [
        (Listener("a:1", False, ()), ["plaintext"]),
        (Listener("a:1", True, ()), ["ssl"]),
        (Listener("a:1", False, ("PLAIN",)), ["sasl_plaintext"]),
        (Listener("a:1", True, ("PLAIN",)), ["sasl_ssl"]),
        (Listener("a:1", True, None), ["ssl", "sasl_ssl"]),  # it hung up before it told about SASL
    ],
)
def test_what_fits(listener: Listener, fitting: list[str]) -> None:
    protocols = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
    assert [protocol for protocol in protocols if listener.fits(protocol)] == fitting
    assert listener.security_protocol in fitting


def test_an_error_gets_the_reason_why_no_broker_was_reached() -> None:
    connection = World().connection()
    connection.heard(GONE)
    told = connection.explained(RequestTimedOut("It failed.", retriable=True))
    assert type(told) is RequestTimedOut
    assert told.likely_cause == "no broker was reached: a:1: Connect to a:1 failed: Connection refused."
    assert told.retriable
    other = UnknownTopic("No such topic.")
    assert connection.explained(other) is other
    connection.reached = True
    late = RequestTimedOut("It failed.")
    assert connection.explained(late) is late


def questions(world: World, *answers: object) -> tuple[list[float], Callable[[float], object]]:
    waits: list[float] = []
    coming = itertools.chain(answers, itertools.repeat(KafkaException(KafkaError(KafkaError._TIMED_OUT))))

    def ask(limit_s: float) -> object:
        waits.append(limit_s)
        answer = next(coming)
        if isinstance(answer, Exception):
            world.time += limit_s
            raise answer
        return answer

    return waits, ask


def test_the_first_question_waits_in_growing_slices_and_the_next_one_as_a_whole() -> None:
    world = World()
    connection = world.connection()
    nobody = KafkaException(KafkaError(KafkaError._TRANSPORT))
    waits, ask = questions(world, nobody, nobody, "answer", "another")
    assert connection.ask(ask, 30, lambda: None) == "answer"
    assert connection.reached
    assert connection.ask(ask, 30, lambda: None) == "another"
    assert waits == [SLICE_S, 2 * SLICE_S, 4 * SLICE_S, 30]


def test_the_last_slice_takes_all_that_is_left_and_its_error_is_raised() -> None:
    world = World()
    waits, ask = questions(world)
    with pytest.raises(KafkaException):
        world.connection().ask(ask, 1, lambda: None)
    assert sum(waits) == 1


def test_a_refusal_ends_the_question() -> None:
    world = World()
    denied = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    waits, ask = questions(world, denied)
    with pytest.raises(KafkaException):
        world.connection().ask(ask, 30, lambda: None)
    assert waits == [SLICE_S]


def test_trouble_ends_the_question() -> None:
    world = World(Listener("a:1", is_tls=True))
    connection = world.connection()
    waits, ask = questions(world)
    with pytest.raises(ConnectionFailed, match="speaks TLS"):
        connection.ask(ask, 30, lambda: connection.heard(ALL_DOWN))
    assert waits == [SLICE_S]


def test_librdkafka_s_own_names_are_left_out() -> None:
    said = "ssl://a:1/bootstrap: SSL handshake failed: oh"
    said += " (after 15ms in state SSL_HANDSHAKE, 3 identical error(s) suppressed)"
    assert in_words(said) == "a:1: SSL handshake failed: oh"


def test_addresses() -> None:
    assert addresses_of("a:1, ssl://b:2,[::1]:3,c,:4,d:x") == [("a", 1), ("b", 2), ("::1", 3), ("c", 9092)]


def test_listeners_are_not_asked_twice_at_the_same_time() -> None:
    """Many addresses that do not answer take longer than the pause between two looks."""
    world, probes = World(), list[Callable[[], None]]()
    connection = Connection("a:1", find=world.find, now=lambda: world.time, start=probes.append)
    for _ in range(3):
        connection.heard(ALL_DOWN)
        world.time += 2 * PROBE_AGAIN_S
    assert len(probes) == 1
    probes[0]()
    connection.heard(ALL_DOWN)
    assert len(probes) == 2


def test_a_look_that_cannot_begin_says_nothing_and_is_over() -> None:
    """At the end of a program no thread begins any more."""

    def fail(_: object) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    world = World()
    connection = Connection("a:1", find=world.find, now=lambda: world.time, start=fail)
    connection.heard(ALL_DOWN)
    assert connection.trouble(has_failed=True) is None
    connection.heard(WRONG_PASSWORD)
    assert connection.trouble() is not None  # nobody waits for the look any more


def test_a_name_that_cannot_be_one_has_no_listener() -> None:
    assert find_listener(f"{'a' * 70}.example", 9092) is None
