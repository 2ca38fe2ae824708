"""The settings of a group and its broker that a share partition follows. They may change while it works."""

from typing import NamedTuple

from tidelog.base.ids import TimestampMs

LEAST_THROTTLED_COUNT = 2
DELAY_MS_MAX = 10 * 366 * 24 * 3_600_000
"""The longest delay of a retry, ten years. A longer one is a mistake, such as a time in place of a delay."""


class Limits(NamedTuple):
    lock_seconds: float = 30.0
    delivery_count_limit: int = 5
    record_locks_max: int = 2_000
    window_max: int = 1_000_000
    delayed_max: int = 100_000
    backoff_ms: int = 0
    backoff_max_ms: int = 3_600_000
    has_dead_letters: bool = False
    renew_enabled: bool = True

    @property
    def throttled_count(self) -> int:
        """Records that were delivered so often are delivered in smaller batches, as in Kafka: if one of them
        crashes its worker, the others get further deliveries without it."""
        return max(LEAST_THROTTLED_COUNT, (self.delivery_count_limit + 1) // 2)

    def is_last_delivery(self, delivery_count: int) -> bool:
        """Whether a record that was delivered so often comes alone, since its next delivery is the last."""
        return self.delivery_count_limit > 2 and delivery_count >= self.delivery_count_limit - 1

    def retry_at(self, delivery_count: int, delay_ms: int, now_ms: TimestampMs) -> TimestampMs:
        """Returns when a released record is available again: after its own delay, or, with a delay of -1,
        after the group's backoff, which doubles with each delivery."""
        if delay_ms < 0:
            if self.backoff_ms == 0:
                return now_ms
            doubled = self.backoff_ms << min(delivery_count - 1, 32) if delivery_count > 0 else 0
            delay_ms = min(doubled, self.backoff_max_ms)
        return now_ms + delay_ms
