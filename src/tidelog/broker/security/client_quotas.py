"""The quotas of clients at work: the limits of each client, and how much of them is used.

Requests look up the limits of their user and client id here, so that a changed quota holds from the next
request on. Clients that share a quota share one rate.

Memory is bounded, however many client ids there are: what has not been used for the span of a rate is
forgotten, since its windows are empty by then.
"""

from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary

from tidelog.base.ports import Clock
from tidelog.broker.security.throttle_counts import ThrottleCounts
from tidelog.security.quotas.entity import ABSENT, QuotaKey, Quotas, quota_of
from tidelog.security.quotas.rate import SlidingRate
from tidelog.security.quotas.recent import Recent

CLIENTS_MAX = 50_000
"""In a generation. A flood of invented client ids ends one early, which costs idle clients their history."""

NO_QUOTAS: Quotas = {}

_RateKey = tuple[QuotaKey, str | None, str | None]


class RateLimit(NamedTuple):
    limit: float
    rate: SlidingRate

    def charge(self, amount: float, now_ms: int) -> int:
        """Returns the milliseconds until the rate is within the limit again."""
        return self.rate.charge(amount, self.limit, now_ms)


class ClientLimits(NamedTuple):
    """Of one user and client id; None where there is no limit."""

    produced_bytes: RateLimit | None = None
    fetched_bytes: RateLimit | None = None
    request_time: RateLimit | None = None
    """In percent of the event loop's time."""


UNLIMITED = ClientLimits()


class ClientQuotas:
    def __init__(
        self, clock: Clock, *, windows: int, window_ms: int, counts: ThrottleCounts | None = None
    ) -> None:
        self.clock = clock
        self.counts = counts or ThrottleCounts()
        self.windows = windows
        self.window_ms = window_ms
        self._quotas: Quotas = NO_QUOTAS
        self._clients: Recent[tuple[str, str | None], ClientLimits] = Recent(CLIENTS_MAX)
        self._rates: WeakValueDictionary[_RateKey, SlidingRate] = WeakValueDictionary()
        self._kept_rates: tuple[set[SlidingRate], set[SlidingRate]] = (set(), set())

    @property
    def span_ms(self) -> int:
        """The time over which a rate is measured."""
        return self.windows * self.window_ms

    @property
    def burst_ms(self) -> int:
        """A client may use at once what its quota allows in this time."""
        return (self.windows - 1) * self.window_ms

    def __len__(self) -> int:
        return len(self._clients)

    def follow(self, quotas: Quotas) -> None:
        """The quotas are these from now on. What was used before counts on."""
        if quotas == self._quotas:
            return
        self._quotas = quotas
        self._kept_rates[0].update(self._rates.values())
        self._clients.clear()

    def limits_of(self, principal: str, client_id: str | None) -> ClientLimits:
        key = (principal, client_id)
        limits = self._clients.find(key)
        if limits is None:
            limits = self._resolve(principal, client_id)
            self._clients.put(key, limits)
        return limits

    def forget_idle(self) -> None:
        """Called once in a span: what was not used since the call before is gone."""
        self._clients.tick()
        self._kept_rates = (set(), self._kept_rates[0])

    def _resolve(self, principal: str, client_id: str | None) -> ClientLimits:
        user, client = user_of(principal), client_id or ""
        limits = ClientLimits(
            self._limit(QuotaKey.PRODUCER_BYTE_RATE, user, client),
            self._limit(QuotaKey.CONSUMER_BYTE_RATE, user, client),
            self._limit(QuotaKey.REQUEST_PERCENTAGE, user, client),
        )
        return UNLIMITED if limits == UNLIMITED else limits

    def _limit(self, key: QuotaKey, user: str, client_id: str) -> RateLimit | None:
        applied = quota_of(self._quotas, key, user, client_id)
        if applied is None:
            return None
        rate_key = (key, *applied.shared_by)
        rate = self._rates.get(rate_key)
        if rate is None:
            rate = self._rates[rate_key] = SlidingRate(windows=self.windows, window_ms=self.window_ms)
        return RateLimit(applied.limit, rate)


def user_of(principal: str) -> str:
    """The name that quotas go by: `alice` of `User:alice`."""
    return principal.partition(":")[2]


def limits_clients(quotas: Quotas) -> bool:
    """Returns whether a request has to be charged at all; quotas of addresses concern connections alone."""
    return any(entity.ip is ABSENT for entity in quotas)


def of_addresses(quotas: Quotas) -> Mapping[str | None, float]:
    """New connections a second, by address; None is the default."""
    return {
        entity.ip: limits[QuotaKey.CONNECTION_CREATION_RATE]  # type: ignore[misc]
        for entity, limits in quotas.items()
        if QuotaKey.CONNECTION_CREATION_RATE in limits
    }
