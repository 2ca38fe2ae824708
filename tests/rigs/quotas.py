"""Quotas on a clock that stands still until a test moves it."""

from tidelog.base.ids import TimestampMs
from tidelog.broker.security.client_quotas import ClientQuotas
from tidelog.security.quotas.entity import DEFAULT, QuotaEntity, QuotaKey

EVERY_USER = QuotaEntity(user=DEFAULT)


class StillClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def now_ms(self) -> TimestampMs:
        return TimestampMs(int(self.now * 1000))

    def monotonic(self) -> float:
        return self.now


def client_quotas(clock: StillClock | None = None, *, windows: int = 11, **limits: float) -> ClientQuotas:
    """Limits of every user, under Kafka's names."""
    quotas = ClientQuotas(clock or StillClock(), windows=windows, window_ms=1000)
    quotas.follow({EVERY_USER: {QuotaKey(name): limit for name, limit in limits.items()}})
    return quotas


def pausing(throttle_ms: int) -> ClientQuotas:
    """Every request of an anonymous user has to pause that long."""
    quotas = client_quotas(request_percentage=1000.0)
    limit = quotas.limits_of("User:ANONYMOUS", "app").request_time
    assert limit is not None
    limit.rate.record(10_000 + throttle_ms, int(quotas.clock.monotonic() * 1000))
    return quotas
