"""Every check of what members of share groups saw.

`check_shares(history, shares)` returns what was broken, an empty list for a good history. The sends are in
`history`; deliveries, acknowledgements and what was left at the end are in `shares`.
"""

from collections.abc import Callable, Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.shares.completion import deleted_too_early, lost_records, unfinished
from tidelog.testing.checks.shares.dead_letters import dead_letters
from tidelog.testing.checks.shares.deliveries import counts, delivered_again, wrong_values
from tidelog.testing.checks.shares.locks import foreign_acks, too_many_locks, two_holders
from tidelog.testing.checks.shares.schedule import early_deliveries, early_retries
from tidelog.testing.checks.shares.seen import SharesSeen
from tidelog.testing.history import History
from tidelog.testing.share_history import ShareHistory

SHARE_CHECKS: tuple[Callable[[SharesSeen], Iterator[Anomaly]], ...] = (
    delivered_again,
    wrong_values,
    counts,
    two_holders,
    foreign_acks,
    too_many_locks,
    unfinished,
    lost_records,
    deleted_too_early,
    early_deliveries,
    early_retries,
    dead_letters,
)


def check_shares(history: History, shares: ShareHistory) -> list[Anomaly]:
    seen = SharesSeen(history, shares)
    return [anomaly for rule in SHARE_CHECKS for anomaly in rule(seen)]
