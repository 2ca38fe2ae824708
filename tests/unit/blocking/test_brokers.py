"""Connections of a client: which broker a request goes to, and when a new connection is opened."""

from typing import Any

import pytest

from tests.unit.blocking.scripted_connections import ScriptedBrokers, ScriptedConnection
from tidelog.blocking.attempts import Limits
from tidelog.blocking.brokers import Brokers
from tidelog.blocking.errors import Disconnected, NoAnswer, NoBroker
from tidelog.blocking.settings import ClusterSettings
from tidelog.wire.message import Message
from tidelog.wire.messages.metadata import MetadataRequest

REQUEST = MetadataRequest()


def client(brokers: ScriptedBrokers, *servers: str) -> Brokers:
    return Brokers(ClusterSettings(servers or ("a:1", "b:2")), connect=brokers.connect)  # type: ignore[arg-type]


def test_the_next_broker_is_asked_when_one_is_away_and_kept() -> None:
    brokers = ScriptedBrokers({2: 9})
    asked = client(brokers)
    asked.call_any(REQUEST)
    brokers.highest[1] = 9
    asked.call_any(REQUEST)
    assert [port for port, _ in brokers.asked] == [2, 2]
    assert brokers.opened == [2]


def test_a_request_that_fails_goes_to_the_next_broker() -> None:
    brokers = ScriptedBrokers({1: 9, 2: 9}, Disconnected("a:1: closed"))
    client(brokers).call_any(REQUEST)
    assert [port for port, _ in brokers.asked] == [1, 2]


def test_brokers_of_the_cluster_are_asked_before_the_bootstrap_servers() -> None:
    brokers = ScriptedBrokers({2: 9, 3: 9})
    asked = client(brokers)
    asked.learn([("c", 3)])
    asked.call_any(REQUEST)
    assert [port for port, _ in brokers.asked] == [3]


def test_no_broker_says_why_for_each() -> None:
    with pytest.raises(NoBroker, match="a:1: refused; b:2: refused") as caught:
        client(ScriptedBrokers({})).call_any(REQUEST)
    assert [failure.reason for failure in caught.value.failures] == ["refused", "refused"]


def test_a_stale_connection_is_replaced() -> None:
    brokers = ScriptedBrokers({1: 9})
    asked = client(brokers)
    first = asked.at(("a", 1))
    assert asked.any() is first
    first.is_stale = True  # type: ignore[misc]
    assert asked.any() is not first
    assert first.is_closed
    assert brokers.opened == [1, 1]


def test_silent_brokers_share_the_time_of_the_call() -> None:
    """A broker that sends no answer takes the time for one request; the call ends when all time is over."""
    now = 0.0

    class SilentConnection(ScriptedConnection):
        def call(self, message: Message, *, timeout_s: float | None = None, **_: Any) -> Any:
            nonlocal now
            brokers.timeouts.append(timeout_s)
            now += timeout_s or 0.0
            raise NoAnswer("silent")

    brokers = ScriptedBrokers({})
    asked = Brokers(
        ClusterSettings(("a:1", "b:2", "c:3", "d:4"), limits=Limits(request_s=30, total_s=50)),
        connect=lambda host, port, **_: SilentConnection(brokers, host, port),  # type: ignore[arg-type,return-value]
        now=lambda: now,
    )
    with pytest.raises(NoBroker):
        asked.call_any(REQUEST, total_s=50)
    assert brokers.timeouts == [30, 20]
    assert asked.at(("a", 1)).timeout_s == 30


def test_closing_closes_every_connection() -> None:
    asked = client(ScriptedBrokers({1: 9, 2: 9}))
    opened = [asked.at(("a", 1)), asked.at(("b", 2))]
    asked.close()
    assert all(connection.is_closed for connection in opened)


def test_a_broker_for_which_no_time_is_left_is_named_by_its_earlier_failure() -> None:
    now = 0.0

    def refuse(host: str, port: int, **_: Any) -> Any:
        nonlocal now
        now += 1.0
        raise Disconnected(f"{host}:{port}: refused")

    asked = Brokers(ClusterSettings(("a:1", "b:2")), connect=refuse, now=lambda: now)
    with pytest.raises(NoBroker):
        asked.call_any(REQUEST, total_s=2.0)
    with pytest.raises(NoBroker, match="a:1: refused; b:2: refused"):
        asked.call_any(REQUEST, total_s=1.0)
