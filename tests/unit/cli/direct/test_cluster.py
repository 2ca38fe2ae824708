"""Requests to any broker: when to ask again, and what a person reads when no broker answers."""

from typing import Any

import pytest

from tests.unit.blocking.scripted_connections import ScriptedBrokers
from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.blocking.errors import BadAnswer, Disconnected, LoginRefused, NoAnswer
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.clients.listener_probe import Listener
from tidelog.wire.messages.describe_cluster import DescribeClusterRequest

REQUEST = DescribeClusterRequest()


def cluster(
    brokers: ScriptedBrokers, servers: str = "a:1,b:2", listener: Listener | None = None, **session: Any
) -> DirectCluster:
    clock = iter(range(1000))
    return DirectCluster(
        Session(servers=servers, **session),
        connect=brokers.connect,  # type: ignore[arg-type]
        find=lambda _host, _port: listener,
        now=lambda: float(next(clock)),
        sleep=lambda _: None,
    )


def caused(error: Disconnected, cause: Exception) -> Disconnected:
    error.__cause__ = cause
    return error


def test_a_broker_that_is_too_old_is_named() -> None:
    with pytest.raises(CliError, match="The broker at a:1 does not offer version 2") as caught:
        cluster(ScriptedBrokers({1: 1})).ask(REQUEST, at_least=2)
    assert caught.value.code is Exit.REFUSED


def test_brokers_that_are_away_are_unreachable_until_one_is_learned() -> None:
    brokers = ScriptedBrokers({3: 2})
    direct = cluster(brokers)
    with pytest.raises(CliError, match="No broker answers at a:1,b:2") as caught:
        direct.ask(REQUEST)
    assert caught.value.code is Exit.UNREACHABLE
    assert "nothing listens there" in (caught.value.cause or "")
    direct.learn([("c", 3)])
    direct.ask(REQUEST)
    assert brokers.asked == [(3, 2)]


def test_it_asks_again_while_the_controller_changes() -> None:
    brokers = ScriptedBrokers({1: 2}, ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_CONTROLLER, 0)
    assert cluster(brokers).ask(REQUEST).error_code == 0
    assert len(brokers.asked) == 3


def test_it_returns_the_error_when_time_is_up() -> None:
    brokers = ScriptedBrokers({1: 2}, *[ErrorCode.NOT_CONTROLLER] * 50)
    answer = cluster(brokers, timeout_s=5).ask(REQUEST)
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
    assert len(brokers.asked) < 10


def test_an_answer_that_cannot_be_read_is_from_no_kafka_broker() -> None:
    bad = caused(BadAnswer("a:1: short"), ProtocolError("short"))
    with pytest.raises(CliError, match="does not answer as a Kafka broker does: short"):
        cluster(ScriptedBrokers({1: 2}, bad)).ask(REQUEST)


def test_a_listener_that_speaks_tls_is_named_with_the_property_that_fits() -> None:
    reset = caused(Disconnected("a:1: closed"), ConnectionResetError("closed"))
    listener = Listener("a:1", True, ())
    with pytest.raises(CliError, match="speaks TLS, but the client speaks plain text") as caught:
        cluster(ScriptedBrokers({1: 2}, reset), listener=listener).ask(REQUEST)
    assert "security.protocol=ssl" in (caught.value.attempt or "")


def test_a_refused_password_is_no_retry() -> None:
    brokers = ScriptedBrokers({1: 2, 2: 2}, LoginRefused("a:1 refused ann: wrong password"))
    properties = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "x",
    }
    with pytest.raises(CliError, match="refused ann: wrong password") as caught:
        cluster(brokers, properties=properties).ask(REQUEST)
    assert caught.value.code is Exit.DENIED
    assert [port for port, _ in brokers.asked] == [1]


def test_security_that_cannot_be_set_up_is_told_before_anything_is_sent() -> None:
    with pytest.raises(CliError, match="SASL mechanism GSSAPI is not supported") as caught:
        cluster(ScriptedBrokers({1: 2}), properties={"security.protocol": "sasl_ssl"})
    assert caught.value.code is Exit.USAGE


def test_a_broker_that_keeps_silent_is_not_called_unreachable() -> None:
    """It is there, but without a controller it cannot forward the request."""
    with pytest.raises(CliError, match=r"answered within 15 s") as caught:
        cluster(ScriptedBrokers({1: 2}, NoAnswer("a:1: timed out"))).ask(REQUEST)
    assert caught.value.code is Exit.TIMED_OUT
    assert "voters" in (caught.value.cause or "")


def test_another_broker_may_answer_where_the_first_is_silent() -> None:
    brokers = ScriptedBrokers({1: 2, 2: 2}, NoAnswer("a:1: timed out"))
    assert cluster(brokers).ask(REQUEST).error_code == 0
    assert [port for port, _ in brokers.asked] == [1, 2]


def test_a_shorter_time_limit_for_one_request() -> None:
    brokers = ScriptedBrokers({1: 2})
    patient = cluster(brokers, timeout_s=15)
    patient.for_seconds(5).ask(REQUEST)
    patient.for_seconds(60).ask(REQUEST)
    assert brokers.timeouts == [5, 15]
    assert brokers.opened == [1], "both use the session's connection"
