"""Connections of a client: which broker a request goes to, and when a new connection is opened."""

import pytest

from tests.unit.blocking.scripted_connections import ScriptedBrokers
from tidelog.blocking.brokers import Brokers
from tidelog.blocking.errors import Disconnected, NoBroker
from tidelog.blocking.settings import ClusterSettings
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


def test_closing_closes_every_connection() -> None:
    asked = client(ScriptedBrokers({1: 9, 2: 9}))
    opened = [asked.at(("a", 1)), asked.at(("b", 2))]
    asked.close()
    assert all(connection.is_closed for connection in opened)
