"""Rates and precedence of quotas against models that keep everything and search everything."""

from hypothesis import given
from hypothesis import strategies as st

from tidelog.security.quotas.entity import (
    ABSENT,
    DEFAULT,
    QuotaEntity,
    QuotaKey,
    quota_of,
)
from tidelog.security.quotas.rate import PAUSE_MS_MAX, SlidingRate
from tidelog.security.quotas.token_bucket import TokenBucket

KEY = QuotaKey.PRODUCER_BYTE_RATE


class Samples:
    """Kafka's sampled rate: a list of samples that is searched every time."""

    def __init__(self, windows: int, window_ms: int) -> None:
        self.windows, self.window_ms = windows, window_ms
        self.samples: list[list[int]] = []  # start and sum

    def record(self, amount: int, now: int) -> None:
        if not self.samples or now - self.samples[-1][0] >= self.window_ms:
            self.samples.append([now, 0])
        self.samples[-1][1] += amount

    def throttle(self, limit: int, now: int) -> float:
        alive = [sample for sample in self.samples if now - sample[0] < self.windows * self.window_ms]
        elapsed = now - alive[0][0] if alive else 0
        full = elapsed // self.window_ms
        covered = elapsed + max(0, self.windows - 1 - full) * self.window_ms
        value = sum(amount for _, amount in alive) / max(covered, 1) * 1000
        return max(0.0, (value - limit) / limit * max(covered, 1))


@given(
    windows=st.integers(2, 12),
    window_ms=st.sampled_from([100, 1000]),
    limit=st.integers(1, 10_000),
    steps=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 100_000)), max_size=60),
)
def test_a_rate_is_kafkas_rate(
    windows: int, window_ms: int, limit: int, steps: list[tuple[int, int]]
) -> None:
    rate, model, now = SlidingRate(windows=windows, window_ms=window_ms), Samples(windows, window_ms), 0
    for pause, amount in steps:
        now += pause
        throttle = rate.charge(amount, limit, now)
        model.record(amount, now)
        wanted = min(PAUSE_MS_MAX, model.throttle(limit, now))
        assert rate.throttle_ms(limit, now) == throttle
        assert (throttle > 0) == (wanted > 1e-6)
        assert abs(throttle - wanted) <= 1
        assert len(rate._sums) <= windows


@given(
    limit=st.integers(10, 1000),
    sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=80),
)
def test_the_worst_client_gets_no_more_than_a_burst_in_each_span(limit: int, sizes: list[int]) -> None:
    """As in Kafka: a pause as long as the span empties the windows, and the client may burst again."""
    rate, now, sent = SlidingRate(windows=11, window_ms=1000), 0, 0
    for size in sizes:
        rate.record(size, now)
        sent += size
        now += rate.throttle_ms(limit, now)
        assert sent <= 2 * limit * (now / 1000 + 11)


NAMES = st.sampled_from(["a", "b", DEFAULT, ABSENT])


@given(
    entities=st.dictionaries(st.tuples(NAMES, NAMES), st.integers(1, 9), max_size=16),
    user=st.sampled_from(["a", "b", "c"]),
    client_id=st.sampled_from(["a", "b", "c"]),
)
def test_the_most_specific_quota_applies(entities: dict, user: str, client_id: str) -> None:
    quotas = {
        QuotaEntity(user=u, client_id=c): {KEY: float(limit)}
        for (u, c), limit in entities.items()
        if (u, c) != (ABSENT, ABSENT)
    }

    def rank(entity: QuotaEntity) -> tuple[int, int]:
        """The user counts before the client id; a name before the default, the default before nothing."""
        order = {ABSENT: 2, DEFAULT: 1}
        return order.get(entity.user, 0), order.get(entity.client_id, 0)

    matching = [
        entity
        for entity in quotas
        if entity.user in (user, DEFAULT, ABSENT) and entity.client_id in (client_id, DEFAULT, ABSENT)
    ]
    applied = quota_of(quotas, KEY, user, client_id)
    if not matching:
        assert applied is None
        return
    best = min(matching, key=rank)
    assert applied is not None
    assert applied.limit == quotas[best][KEY]
    assert applied.shared_by == (
        None if best.user is ABSENT else user,
        None if best.client_id is ABSENT else client_id,
    )


@given(
    rate=st.integers(1, 50),
    steps=st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 300)), max_size=50),
)
def test_a_bucket_never_gives_more_than_its_rate_and_burst(rate: int, steps: list[tuple[int, int]]) -> None:
    burst = 11.0 * rate
    bucket, now, taken, largest = TokenBucket(0, burst=burst), 0, 0, 0
    for pause, count in steps:
        now += pause
        throttle = bucket.throttle_ms(rate, burst, now)
        if throttle:
            assert bucket.throttle_ms(rate, burst, now + throttle + 1) == 0
            now += throttle + 1
        bucket.take(count, rate, burst, now)
        taken, largest = taken + count, max(largest, count)
        assert taken <= burst + rate * now / 1000 + largest + 1
