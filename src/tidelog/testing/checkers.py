"""Every check of what clients saw. Each is a rule that a Kafka cluster promises; gaps in offsets are none.

`check(history)` gives what was broken, an empty list for a good history.
"""

from collections.abc import Callable, Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.observed import Observed
from tidelog.testing.checks.order import poll_order, send_order
from tidelog.testing.checks.transactions import circles, torn_transactions
from tidelog.testing.checks.writes import (
    aborted_reads,
    duplicates,
    inconsistent_offsets,
    lost_writes,
    unseen_writes,
)
from tidelog.testing.history import History

__all__ = ["CHECKS", "Anomaly", "check", "realtime_lag"]

CHECKS: tuple[Callable[[Observed], Iterator[Anomaly]], ...] = (
    inconsistent_offsets,
    duplicates,
    aborted_reads,
    lost_writes,
    unseen_writes,
    poll_order,
    send_order,
    torn_transactions,
    circles,
)


def check(history: History) -> list[Anomaly]:
    seen = Observed(history)
    return [anomaly for rule in CHECKS for anomaly in rule(seen)]


def realtime_lag(history: History) -> float:
    """Seconds: how long the slowest acknowledged record took from its acknowledgement to its first reader."""
    seen = Observed(history)
    waits = [
        min(reader.ended for reader in seen.readers[value]) - writer.ended
        for value, writer in seen.writers.items()
        if seen.is_promised(value) and seen.is_read(value)
    ]
    return max(waits, default=0.0)
