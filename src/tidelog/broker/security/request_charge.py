"""What one request costs its client: bytes written, bytes read, and time of the event loop.

Time counts while the loop works for the request: decoding, handling, encoding. Waiting is free, and so are
threads and the kernel's sending.
"""

from tidelog.broker.security.client_quotas import ClientLimits, ClientQuotas

PERCENT = 100


class RequestCharge:
    """Made when a request arrives, if its client has any limit; `end` says how long the client must pause."""

    __slots__ = ("_limits", "_monotonic", "_quotas", "_spent", "_started", "throttle_ms")

    def __init__(self, quotas: ClientQuotas, limits: ClientLimits) -> None:
        self._quotas = quotas
        self._limits = limits
        self._monotonic = quotas.clock.monotonic
        self._started = self._monotonic()
        self._spent = 0.0
        self.throttle_ms = 0

    @property
    def counts_time(self) -> bool:
        return self._limits.request_time is not None

    @property
    def fetched_bytes_max(self) -> float | None:
        """The most that a fetch may return, so that a single response does not exceed the burst."""
        limit = self._limits.fetched_bytes
        return None if limit is None else limit.limit * self._quotas.burst_ms / 1000

    def produced(self, count: int) -> None:
        limit = self._limits.produced_bytes
        if limit is not None:
            self.throttle_ms = limit.rate.charge(count, limit.limit, int(self._started * 1000))
            if self.throttle_ms:
                self._quotas.counts.add("produce", self.throttle_ms)

    def fetched(self, count: int) -> bool:
        """Returns False if the client has to come again for the records after a pause; then nothing counts.

        A response that is beyond the burst by itself is sent if nothing else counts: smaller it will not
        get, and the consumer would never get past it.
        """
        limit = self._limits.fetched_bytes
        if limit is None:
            return True
        now_ms = int(self._monotonic() * 1000)
        before = limit.rate.total(now_ms)
        throttle_ms = limit.charge(count, now_ms)
        self._pause(throttle_ms, "fetch")
        if throttle_ms and before > 0:
            limit.rate.record(-count, now_ms)
            return False
        return True

    def delivered(self, count: int) -> None:
        """Records that are sent in any case: a share group has acquired them. The pause comes after."""
        limit = self._limits.fetched_bytes
        if limit is not None:
            self._pause(limit.charge(count, int(self._monotonic() * 1000)), "fetch")

    def rest(self) -> None:
        """The loop stops working for this request until `resume`."""
        self._spent += self._monotonic() - self._started

    def resume(self) -> None:
        self._started = self._monotonic()

    def end(self) -> int:
        """The response is about to be encoded: charge the time so far, and return the pause."""
        limit = self._limits.request_time
        if limit is not None:
            now = self._monotonic()
            share = (self._spent + now - self._started) * PERCENT
            # A pause of a window at most, as in Kafka: the next request is measured again.
            self._pause(min(limit.charge(share, int(now * 1000)), self._quotas.window_ms), "request")
            self._started = now
        return self.throttle_ms

    def encoded(self) -> None:
        """The time since `end` counts for later requests."""
        limit = self._limits.request_time
        if limit is not None:
            now = self._monotonic()
            limit.rate.record((now - self._started) * PERCENT, int(now * 1000))

    def _pause(self, throttle_ms: int, quota: str) -> None:
        """Of several quotas the longest pause counts."""
        if throttle_ms > self.throttle_ms:
            self._quotas.counts.add(quota, throttle_ms - self.throttle_ms)
            self.throttle_ms = throttle_ms
