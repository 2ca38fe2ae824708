import math

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.server.connection.limits import ConnectionLimits


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
