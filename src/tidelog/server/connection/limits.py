"""Every limit a listener and its connections keep, in one place.

Nothing here is unlimited: a client that misbehaves meets one of these numbers. The names on the right
are the settings an operator knows.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.listener_settings import name_for
from tidelog.base.settings.quotas import parse_overrides
from tidelog.security.quotas.share import share_of

MIB = 1024 * 1024
UNLIMITED = 2**31 - 1
CONNECTIONS_OF_A_BROKER = 8
"""As many as a broker may have with another: metadata, heartbeats, forwarded requests, replicas, markers."""


class ListenerLimits(NamedTuple):
    """Of one listener, beside those of the broker."""

    connections_max: int = UNLIMITED  # listener.name.X.max.connections
    rate_max: int = UNLIMITED  # listener.name.X.max.connection.creation.rate


NO_LIMITS = ListenerLimits()


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    frame_bytes_max: int = 100 * MIB  # socket.request.max.bytes
    held_bytes_max: int = 256 * MIB  # queued.max.request.bytes: all connections together
    connections_max: int = UNLIMITED  # max.connections
    connections_per_ip_max: int = UNLIMITED  # max.connections.per.ip
    connections_per_ip: Mapping[str, int] = field(default_factory=dict)  # max.connections.per.ip.overrides
    connection_rate_max: int = UNLIMITED  # max.connection.creation.rate: new connections in a second
    by_listener: Mapping[str, ListenerLimits] = field(default_factory=dict)
    # Quotas of addresses: new connections in a second; None is the default.
    address_rates: Mapping[str | None, float] = field(default_factory=dict)
    rate_windows: int = 11  # quota.window.num
    rate_window_ms: int = 1000  # quota.window.size.seconds
    # Brokers meet here; where clients have listeners of their own, those do not take its connections away.
    protected_listener: str | None = None

    # One connection: beyond either, its next request waits until an earlier one is answered.
    in_flight_max: int = 100  # max.in.flight.requests.per.connection
    in_flight_bytes_max: int = 32 * MIB
    # Responses that the client has not taken yet; beyond this its next request waits.
    output_bytes_max: int = MIB
    # Requests of one connection before the others get their turn.
    requests_per_turn: int = 64

    idle_seconds: float = 600.0  # connections.max.idle.ms
    half_frame_seconds: float = 30.0  # connections.half.frame.timeout.ms
    unread_answer_seconds: float = 30.0  # connections.unread.answer.timeout.ms
    handshake_seconds: float = 10.0  # ssl.handshake.timeout.ms
    linger_seconds: float = 2.0  # for a client to take the last response before the socket is closed
    # Once a frame has waited for memory this long, ...
    memory_patience_seconds: float = 1.0
    stall_seconds: float = 2.0  # ... others that have it must not be silent for longer than this.

    backlog: int = 1024  # socket.listen.backlog.size
    send_buffer_bytes: int = -1  # socket.send.buffer.bytes; -1 leaves it to the kernel
    receive_buffer_bytes: int = -1  # socket.receive.buffer.bytes

    @classmethod
    def from_config(
        cls, config: BrokerConfig, address_rates: Mapping[str | None, float] | None = None
    ) -> "ConnectionLimits":
        held = config.int("queued.max.request.bytes")
        idle_ms = config.int("connections.max.idle.ms")
        names = [listener.name for listener in config.listeners()]
        return cls(
            frame_bytes_max=config.int("socket.request.max.bytes"),
            held_bytes_max=held if held >= 0 else sys.maxsize,
            connections_max=config.int("max.connections"),
            connections_per_ip_max=config.int("max.connections.per.ip"),
            connections_per_ip=parse_overrides(config.list("max.connections.per.ip.overrides")),
            connection_rate_max=config.int("max.connection.creation.rate"),
            by_listener={
                name: limits for name in names if (limits := _of_listener(config, name)) != NO_LIMITS
            },
            address_rates=address_rates or {},
            rate_windows=config.int("quota.window.num"),
            rate_window_ms=config.int("quota.window.size.seconds") * 1000,
            protected_listener=config.inter_broker_listener() if len(names) > 1 else None,
            in_flight_max=config.int("max.in.flight.requests.per.connection"),
            idle_seconds=idle_ms / 1000 if idle_ms >= 0 else math.inf,
            half_frame_seconds=config.int("connections.half.frame.timeout.ms") / 1000,
            unread_answer_seconds=config.int("connections.unread.answer.timeout.ms") / 1000,
            handshake_seconds=config.int("ssl.handshake.timeout.ms") / 1000,
            backlog=config.int("socket.listen.backlog.size"),
            send_buffer_bytes=config.int("socket.send.buffer.bytes"),
            receive_buffer_bytes=config.int("socket.receive.buffer.bytes"),
        )

    def shared_by(self, cores: int) -> "ConnectionLimits":
        """Those of one core, where they hold for a machine with so many. Rates of addresses stay."""
        if cores == 1:
            return self
        # The other brokers of the machine, which have one address, must be let in.
        most = CONNECTIONS_OF_A_BROKER * (cores - 1)
        held = self.held_bytes_max
        return replace(
            self,
            held_bytes_max=held if held == sys.maxsize else max(self.frame_bytes_max, held // cores),
            connections_max=share_of(self.connections_max, cores, most),
            connections_per_ip_max=share_of(self.connections_per_ip_max, cores, most),
            connections_per_ip={
                host: share_of(limit, cores, most) for host, limit in self.connections_per_ip.items()
            },
            connection_rate_max=share_of(self.connection_rate_max, cores),
            by_listener={
                name: ListenerLimits(
                    share_of(limits.connections_max, cores, most), share_of(limits.rate_max, cores)
                )
                for name, limits in self.by_listener.items()
            },
        )

    def connections_of(self, host: str) -> int:
        """Returns how many connections an address may have."""
        return self.connections_per_ip.get(host, self.connections_per_ip_max)

    @property
    def tick_seconds(self) -> float:
        """How often connections are swept: often enough for the shortest limit, at most once a second."""
        shortest = min(
            self.idle_seconds,
            self.half_frame_seconds,
            self.unread_answer_seconds,
            self.linger_seconds,
            self.memory_patience_seconds,
            self.stall_seconds,
        )
        return max(0.01, min(1.0, shortest / 4))


def _of_listener(config: BrokerConfig, listener: str) -> ListenerLimits:
    """The limits that are given for this listener alone; those of the broker count beside them."""

    def limit(setting: str) -> int:
        name = name_for(setting, listener)
        return config.int(name) if name in config else UNLIMITED

    return ListenerLimits(limit("max.connections"), limit("max.connection.creation.rate"))
