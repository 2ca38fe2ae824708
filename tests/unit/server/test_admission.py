"""New connections: those that are let in, those that wait, and those that are turned away."""

import pytest

from tidelog.base.config.config import load
from tidelog.base.config.error import ConfigError
from tidelog.server import admission
from tidelog.server.admission import Admission, Verdict
from tidelog.server.connection.limits import ConnectionLimits, ListenerLimits

LET_IN = Verdict()


def verdicts(
    limits: ConnectionLimits, *clients: tuple[str, str], at: Admission | None = None, now_ms: int = 0
) -> list[str | None]:
    """Refusals of clients that come from a host to a listener, all at one moment."""
    at = Admission() if at is None else at
    return [at.decide(limits, listener, host, now_ms).refusal for listener, host in clients]


def test_without_limits_each_client_is_let_in() -> None:
    assert Admission().decide(ConnectionLimits(), "A", "192.0.2.1", 0) == LET_IN


def test_the_cap_of_the_broker_and_of_an_address() -> None:
    limits = ConnectionLimits(connections_max=3, connections_per_ip_max=2)
    assert verdicts(limits, ("A", "1"), ("A", "1"), ("A", "1"), ("B", "2"), ("B", "3")) == [
        None,
        None,
        "max.connections.per.ip=2",
        None,
        "max.connections=3",
    ]


def test_addresses_with_caps_of_their_own() -> None:
    limits = ConnectionLimits(connections_per_ip_max=2, connections_per_ip={"1": 1, "2": 3})
    assert verdicts(limits, *[("A", "1")] * 2) == [None, "max.connections.per.ip.overrides=1"]
    assert verdicts(limits, *[("A", "2")] * 4) == [None, None, None, "max.connections.per.ip.overrides=3"]


def test_the_cap_of_a_listener() -> None:
    limits = ConnectionLimits(by_listener={"A": ListenerLimits(connections_max=1)})
    assert verdicts(limits, ("A", "1"), ("A", "2"), ("B", "3")) == [
        None,
        "listener.name.a.max.connections=1",
        None,
    ]


def test_connections_that_end_make_room() -> None:
    at, limits = Admission(), ConnectionLimits(connections_max=1, connections_per_ip_max=1)
    assert verdicts(limits, ("A", "1"), ("A", "1"), at=at)[1] is not None
    at.left("A", "1")
    assert (len(at), verdicts(limits, ("A", "1"), at=at)) == (0, [None])


def test_brokers_are_let_in_at_the_cap_and_a_client_has_to_go() -> None:
    at, limits = Admission(), ConnectionLimits(connections_max=2, protected_listener="BROKERS")
    assert at.decide(limits, "BROKERS", "1", 0) == LET_IN
    assert at.decide(limits, "CLIENTS", "2", 0) == LET_IN
    assert at.decide(limits, "CLIENTS", "2", 0).refusal == "max.connections=2"
    assert at.decide(limits, "BROKERS", "3", 0) == Verdict(makes_room=True)
    assert len(at) == 3


def test_a_listener_that_takes_too_many_pauses_for_a_second_at_most() -> None:
    at = Admission()
    limits = ConnectionLimits(by_listener={"A": ListenerLimits(rate_max=2)})
    pauses = [at.decide(limits, "A", str(host), 0).listener_pause_ms for host in range(25)]
    assert pauses == [0] * 20 + [500, 1000, 1000, 1000, 1000]
    assert at.decide(limits, "B", "1", 0).listener_pause_ms == 0


def test_the_rate_of_the_broker_does_not_hold_up_brokers() -> None:
    at = Admission()
    limits = ConnectionLimits(connection_rate_max=1, protected_listener="BROKERS")
    pauses = [at.decide(limits, "CLIENTS", "1", 0).listener_pause_ms for _ in range(12)]
    assert pauses[9:] == [0, 1000, 1000]
    assert at.decide(limits, "BROKERS", "2", 0).listener_pause_ms == 0


def test_an_address_above_its_rate_is_turned_away_late() -> None:
    at, limits = Admission(), ConnectionLimits(address_rates={"1": 0.5, None: 100.0})
    for _ in range(5):
        assert at.decide(limits, "A", "1", 0) == LET_IN
    for _ in range(3):
        assert at.decide(limits, "A", "1", 0) == Verdict(
            "connection_creation_rate of 1", 1000, reason="connection_creation_rate"
        )
    assert at.decide(limits, "A", "2", 0) == LET_IN
    assert len(at) == 6
    assert at.decide(limits, "A", "1", 11_000) == LET_IN  # those that were turned away do not count


def test_an_address_without_a_quota_is_not_measured() -> None:
    at, limits = Admission(), ConnectionLimits(address_rates={"1": 1.0})
    assert verdicts(limits, *[("A", "2")] * 50, at=at) == [None] * 50
    assert len(at._host_rates) == 0


def test_addresses_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "ADDRESSES_MAX", 10)
    at, limits = Admission(), ConnectionLimits(address_rates={None: 1.0})
    for number in range(100):
        at.decide(limits, "A", str(number), 0)
        at.left("A", str(number))
    assert len(at._host_rates) <= 20
    at.tick(limits, 11_000)
    at.tick(limits, 12_000)  # too soon for another
    at.tick(limits, 22_000)
    assert len(at._host_rates) == 0


def test_limits_from_a_config() -> None:
    config = load(
        flags={
            "listeners": "CLIENTS://:9092,BROKERS://:9093",
            "advertised.listeners": "CLIENTS://h:9092,BROKERS://h:9093",
            "inter.broker.listener.name": "BROKERS",
            "max.connections.per.ip.overrides": "192.0.2.1:7,[2001:db8:0::1]:8",
            "max.connection.creation.rate": "30",
            "listener.name.clients.max.connections": "100",
            "listener.name.clients.max.connection.creation.rate": "20",
        }
    )
    limits = ConnectionLimits.from_config(config, {"192.0.2.1": 5.0})
    assert limits.connections_per_ip == {"192.0.2.1": 7, "2001:db8::1": 8}
    assert limits.connection_rate_max == 30
    assert limits.by_listener == {"CLIENTS": ListenerLimits(100, 20)}
    assert limits.protected_listener == "BROKERS"
    assert limits.address_rates == {"192.0.2.1": 5.0}


@pytest.mark.parametrize("text", ["somewhere:7", "192.0.2.1", "192.0.2.1:many", ":7"])
def test_an_override_that_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not ADDRESS:COUNT"):
        load(flags={"max.connections.per.ip.overrides": text})
