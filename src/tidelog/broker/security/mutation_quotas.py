"""controller_mutation_rate at work: partitions that a client may create and delete in a second (KIP-599).

A token bucket of the controller: a request is carried out whole as long as there is no debt, and may leave
one behind. Clients that understand THROTTLING_QUOTA_EXCEEDED are refused while there is a debt; requests of
older ones are carried out, and their connection pauses.
"""

from collections.abc import Callable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ports import Clock
from tidelog.broker.security.client_quotas import user_of
from tidelog.broker.security.throttle_counts import ThrottleCounts
from tidelog.security.quotas.entity import AppliedQuota, QuotaKey, Quotas, quota_of
from tidelog.security.quotas.token_bucket import TokenBucket

BUCKETS_MAX = 10_000

_SharedBy = tuple[str | None, str | None]


class MutationQuotas:
    def __init__(
        self, clock: Clock, *, windows: int, window_ms: int, counts: ThrottleCounts | None = None
    ) -> None:
        self._clock = clock
        self.counts = counts or ThrottleCounts()
        self._span_seconds = windows * window_ms / 1000
        self._quotas: Quotas = {}
        self._buckets: dict[_SharedBy, tuple[TokenBucket, AppliedQuota]] = {}

    def follow(self, quotas: Quotas) -> None:
        self._quotas = quotas

    def charge_of(self, principal: str, client_id: str | None, *, is_strict: bool) -> "MutationCharge | None":
        """Returns None where there is no limit. A strict charge refuses; else the client pauses."""
        key = QuotaKey.CONTROLLER_MUTATION_RATE
        applied = quota_of(self._quotas, key, user_of(principal), client_id or "")
        return None if applied is None else MutationCharge(self, applied, is_strict=is_strict)

    def take(self, count: int, applied: AppliedQuota) -> None:
        now_ms = self._now_ms()
        bucket = self._bucket(applied, now_ms)
        bucket.take(count, applied.limit, self._burst(applied), now_ms)

    def throttle_ms(self, applied: AppliedQuota) -> int:
        now_ms = self._now_ms()
        bucket = self._bucket(applied, now_ms)
        return bucket.throttle_ms(applied.limit, self._burst(applied), now_ms)

    def _bucket(self, applied: AppliedQuota, now_ms: int) -> TokenBucket:
        known = self._buckets.get(applied.shared_by)
        if known is not None:
            return known[0]
        if len(self._buckets) >= BUCKETS_MAX:
            self._forget(now_ms)
        bucket = TokenBucket(now_ms, burst=self._burst(applied))
        self._buckets[applied.shared_by] = (bucket, applied)
        return bucket

    def _forget(self, now_ms: int) -> None:
        """Drop buckets that are full, which are as good as new ones; the oldest if none is."""
        full = [
            shared_by
            for shared_by, (bucket, applied) in self._buckets.items()
            if bucket.is_full(applied.limit, self._burst(applied), now_ms)
        ]
        for shared_by in full or list(self._buckets)[:1]:
            del self._buckets[shared_by]

    def _burst(self, applied: AppliedQuota) -> float:
        return applied.limit * self._span_seconds

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)


class MutationCharge:
    """Of one request."""

    __slots__ = ("_applied", "_is_strict", "_quotas", "_taken", "throttle_ms")

    def __init__(self, quotas: MutationQuotas, applied: AppliedQuota, *, is_strict: bool) -> None:
        self._quotas = quotas
        self._applied = applied
        self._is_strict = is_strict
        self._taken = 0
        self.throttle_ms = 0
        """How long the client must pause after the response."""

    def anew(self) -> Callable[[int], None]:
        """Returns `take` for a decision that begins, once more perhaps: what it took before is given back."""
        if self._taken:
            self._quotas.take(-self._taken, self._applied)
            self._taken = 0
        return self.take

    def take(self, partitions: int) -> None:
        """Raises KafkaError where the client is refused; then nothing is taken."""
        if self._is_strict:
            self.throttle_ms = self._quotas.throttle_ms(self._applied)
            if self.throttle_ms:
                self._quotas.counts.add("mutation", self.throttle_ms)
                raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self._quotas.take(partitions, self._applied)
        self._taken += partitions
        if not self._is_strict:
            self.throttle_ms = self._quotas.throttle_ms(self._applied)
            if self.throttle_ms:
                self._quotas.counts.add("mutation", self.throttle_ms)
