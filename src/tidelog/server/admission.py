"""Which new connections are let in: limits on how many there are, and on how many are new in a second.

As in Kafka, a listener that takes too many in a second pauses, and further clients wait in the kernel's
queue (KIP-612). An address that opens too many is answered by a connection that is closed a little later,
so that a client in a loop slows down. Neither takes more than a window at a time. The listener between
brokers is never held up by clients of the others (KIP-402).
"""

from collections import Counter
from typing import NamedTuple

from tidelog.security.quotas.rate import SlidingRate
from tidelog.security.quotas.recent import Recent
from tidelog.server.connection.limits import NO_LIMITS, UNLIMITED, ConnectionLimits, ListenerLimits

ADDRESSES_MAX = 10_000


class Verdict(NamedTuple):
    """Of one new connection."""

    refusal: str | None = None
    """The limit that keeps it out, with its value."""
    close_after_ms: int = 0
    """A refused connection is closed after this time."""
    listener_pause_ms: int = 0
    """The listener accepts nothing for this time."""
    makes_room: bool = False
    """It is let in beyond `max.connections`, and a client's connection has to go."""
    reason: str = ""
    """The name of the limit that keeps it out, without its value."""


class Admission:
    def __init__(self) -> None:
        self._by_host: Counter[str] = Counter()
        self.by_listener: Counter[str] = Counter()
        """Connections that were let in and have not ended."""
        self._rates: dict[str | None, SlidingRate] = {}  # by listener; None is the broker
        self._host_rates: Recent[str, SlidingRate] = Recent(ADDRESSES_MAX)
        self._ticked_ms = 0

    def __len__(self) -> int:
        return self.by_listener.total()

    def decide(self, limits: ConnectionLimits, listener: str, host: str, now_ms: int) -> Verdict:
        """Counts the connection where it is let in."""
        is_protected = listener == limits.protected_listener
        of_listener = limits.by_listener.get(listener, NO_LIMITS)
        pause_ms = self._pause_ms(limits, of_listener, listener, now_ms, is_protected=is_protected)
        refusal, reason, close_after_ms = None, "", 0
        count = len(self)
        if self.by_listener[listener] >= of_listener.connections_max:
            reason = f"listener.name.{listener.lower()}.max.connections"
            refusal = f"{reason}={of_listener.connections_max}"
        elif count >= limits.connections_max and not is_protected:
            reason = "max.connections"
            refusal = f"{reason}={limits.connections_max}"
        elif limits.address_rates and (close_after_ms := self._too_soon_ms(limits, host, now_ms)):
            reason = "connection_creation_rate"
            refusal = f"{reason} of {host}"
        elif self._by_host[host] >= (most := limits.connections_of(host)):
            reason = "max.connections.per.ip" + (".overrides" if host in limits.connections_per_ip else "")
            refusal = f"{reason}={most}"
        if refusal is not None:
            return Verdict(refusal, close_after_ms, pause_ms, reason=reason)
        self._by_host[host] += 1
        self.by_listener[listener] += 1
        return Verdict(listener_pause_ms=pause_ms, makes_room=count >= limits.connections_max)

    def left(self, listener: str, host: str) -> None:
        """A connection that was let in has ended."""
        for counter, key in ((self._by_host, host), (self.by_listener, listener)):
            counter[key] -= 1
            if not counter[key]:
                del counter[key]

    def tick(self, limits: ConnectionLimits, now_ms: int) -> None:
        """Forget addresses from which no client has come for a while."""
        if now_ms - self._ticked_ms >= limits.rate_windows * limits.rate_window_ms:
            self._ticked_ms = now_ms
            self._host_rates.tick()

    def _pause_ms(
        self,
        limits: ConnectionLimits,
        of_listener: ListenerLimits,
        listener: str,
        now_ms: int,
        *,
        is_protected: bool,
    ) -> int:
        pause_ms = 0
        if limits.connection_rate_max != UNLIMITED and not is_protected:
            pause_ms = self._charge(limits, None, limits.connection_rate_max, now_ms)
        if of_listener.rate_max != UNLIMITED:
            pause_ms = max(pause_ms, self._charge(limits, listener, of_listener.rate_max, now_ms))
        return min(pause_ms, limits.rate_window_ms)

    def _charge(self, limits: ConnectionLimits, listener: str | None, rate_max: int, now_ms: int) -> int:
        rate = self._rates.get(listener)
        if rate is None:
            rate = self._rates[listener] = _rate(limits)
        return rate.charge(1, rate_max, now_ms)

    def _too_soon_ms(self, limits: ConnectionLimits, host: str, now_ms: int) -> int:
        rates = limits.address_rates
        limit = rates.get(host, rates.get(None))
        if limit is None:
            return 0
        rate = self._host_rates.find(host)
        if rate is None:
            rate = _rate(limits)
            self._host_rates.put(host, rate)
        throttle_ms = rate.charge(1, limit, now_ms)
        if throttle_ms:
            rate.record(-1, now_ms)  # it is not let in, and does not count
        return min(throttle_ms, limits.rate_window_ms)


def _rate(limits: ConnectionLimits) -> SlidingRate:
    return SlidingRate(windows=limits.rate_windows, window_ms=limits.rate_window_ms)
