"""One client that pushes its metrics: its subscription, when it may ask and push again, its last values."""

from tidelog.base.errors import ErrorCode
from tidelog.metrics.clients.labels import KeptPoint, Labels
from tidelog.metrics.clients.subscription import ClientFacts, Subscription

KEPT_MS_MIN = 60_000
_KEPT_INTERVALS = 3
_ASKS_AT_ONCE_AFTER = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)

SeriesKey = tuple[str, Labels]


class ClientInstance:
    __slots__ = (
        "_asked_ms",
        "_pushed_ms",
        "_touched_ms",
        "client",
        "error",
        "is_terminating",
        "subscription",
        "values",
    )

    def __init__(self, client: ClientFacts, subscription: Subscription, now_ms: int) -> None:
        self.client = client
        self.subscription = subscription
        self.is_terminating = False
        self.error = ErrorCode.NONE
        """The answer to its last request."""
        self.values: dict[SeriesKey, tuple[float, bool]] = {}
        """Each with whether it is a counter."""
        self._asked_ms: int | None = None
        self._pushed_ms: int | None = None
        self._touched_ms = now_ms

    def follow(self, subscription: Subscription) -> None:
        """The subscriptions have changed: the client may ask for its new one at once."""
        self.subscription = subscription
        self._asked_ms = self._pushed_ms = None

    def touch(self, now_ms: int) -> None:
        self._touched_ms = now_ms

    def may_ask(self, now_ms: int) -> bool:
        """Whether the client may get its subscription now, which it then does."""
        last_ms = max((at for at in (self._asked_ms, self._pushed_ms) if at is not None), default=None)
        if last_ms is None or now_ms - last_ms >= self.subscription.interval_ms:
            self._asked_ms = now_ms
            return True
        return self.error in _ASKS_AT_ONCE_AFTER

    def may_push(self, now_ms: int) -> bool:
        """The first push after a subscription may come early: clients spread it over the interval."""
        asked_ms, pushed_ms = self._asked_ms, self._pushed_ms
        is_first = pushed_ms is None or (asked_ms is not None and asked_ms > pushed_ms)
        if is_first or now_ms - (pushed_ms or 0) >= self.subscription.interval_ms:
            self._pushed_ms = now_ms
            return True
        return False

    def is_expired(self, now_ms: int) -> bool:
        """A client that leaves is kept for a while, so that a scrape sees its last values."""
        kept_ms = KEPT_MS_MIN
        if not self.is_terminating:
            kept_ms = max(kept_ms, _KEPT_INTERVALS * self.subscription.interval_ms)
        return now_ms - self._touched_ms > kept_ms

    def take(self, points: list[KeptPoint]) -> None:
        """The values of a push replace those of the push before; what comes as a difference adds up.

        Of points with the same labels the first counts: Prometheus refuses a page with a series twice.
        """
        before = self.values
        after: dict[SeriesKey, tuple[float, bool]] = {}
        for point in points:
            key = (point.metric, point.labels)
            if key in after:
                continue
            known = before.get(key)
            value = point.value + known[0] if point.is_delta and known is not None else point.value
            after[key] = (value, point.is_counter)
        self.values = after
