import math

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.server.connection.limits import ConnectionLimits, ListenerLimits


def test_the_defaults_are_those_of_the_settings() -> None:
    ours, configured = ConnectionLimits(), ConnectionLimits.from_config(BrokerConfig())
    assert configured == ConnectionLimits(backlog=configured.backlog)
    assert ours.frame_bytes_max == 104_857_600


def test_minus_one_means_no_limit() -> None:
    limits = ConnectionLimits.from_config(
        BrokerConfig({"connections.max.idle.ms": -1, "queued.max.request.bytes": -1})
    )
    assert limits.idle_seconds == math.inf
    assert limits.held_bytes_max > 2**60


def test_ticks_follow_the_shortest_limit() -> None:
    assert ConnectionLimits(linger_seconds=10, memory_patience_seconds=8, stall_seconds=8).tick_seconds == 1.0
    assert ConnectionLimits(half_frame_seconds=0.2).tick_seconds == 0.05


def test_cores_of_a_machine_divide_its_limits() -> None:
    of_machine = ConnectionLimits(
        frame_bytes_max=100,
        held_bytes_max=1000,
        connections_max=1001,
        connections_per_ip_max=2,
        connection_rate_max=10,
        by_listener={"A": ListenerLimits(400, 8)},
    )
    own = of_machine.shared_by(4)
    assert (own.held_bytes_max, own.connections_max, own.connection_rate_max) == (250, 250, 2)
    assert own.connections_per_ip_max == 24, "or three other cores could not come in from one address"
    assert own.by_listener == {"A": ListenerLimits(100, 2)}
    assert of_machine.shared_by(20).held_bytes_max == 100, "the largest request must fit"
    assert ConnectionLimits().shared_by(4).connections_max == ConnectionLimits().connections_max
