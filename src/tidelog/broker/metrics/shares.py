"""Share groups at the leaders of their partitions: records by state, sessions, and what happened so far.

Sums of a group over the partitions of a topic; above `metrics.groups.max` those with the most records in
hand, which an operator looks for. A broker without share groups shows nothing of them.
"""

from collections import Counter
from collections.abc import Iterator
from heapq import nlargest
from typing import TYPE_CHECKING

from tidelog.broker.requests.context import Services
from tidelog.metrics.families import shares as families
from tidelog.metrics.page import Page
from tidelog.shares.states import AckType

if TYPE_CHECKING:
    from tidelog.broker.shares.share_partitions import SharePartitions

PARTITIONS_A_TURN = 200
STATES = (families.ACQUIRED, families.SCHEDULED, families.DELAYED, families.ARCHIVING)


class SharesCollector:
    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self, page: Page) -> Iterator[None]:
        services = self._services
        if services.deletion is not None and (deleted := services.deletion.deleted_records):
            page.add(families.DELETED, deleted)
        shares = services.shares
        if shares is None:
            return
        _add_totals(page, shares)
        yield
        records: dict[tuple[str, str], list[int]] = {}
        for number, led in enumerate(shares):
            if led.is_loaded:
                share = led.share
                counts = records.setdefault((led.place.group_id, led.partition.topic), [0] * len(STATES))
                for at, count in enumerate((share.acquired, share.scheduled, share.delayed, share.archiving)):
                    counts[at] += count
            if number % PARTITIONS_A_TURN == PARTITIONS_A_TURN - 1:
                yield
        groups_max = services.config.int("metrics.groups.max")
        for (group, topic), counts in nlargest(groups_max, records.items(), key=lambda one: sum(one[1])):
            for family, count in zip(STATES, counts, strict=True):
                page.add(family, count, group, topic)
        _add_dead_letters(page, shares, groups_max)


def _add_totals(page: Page, shares: "SharePartitions") -> None:
    tally = shares.tally
    page.add(families.PARTITIONS, len(shares))
    page.add(families.SESSIONS, len(shares.sessions))
    page.add(families.SESSION_PARTITIONS, shares.sessions.partitions_total)
    page.add(families.DELIVERIES, tally.delivered)
    page.add(families.REDELIVERIES, tally.redelivered)
    page.add(families.LOCK_TIMEOUTS, tally.lock_timeouts)
    page.add(families.STATE_SAVES, tally.saves)
    page.add(families.STATE_SAVE_FAILURES, tally.save_failures)
    for kind in AckType:
        page.add(families.ACKNOWLEDGEMENTS, tally.acknowledged[kind], kind.name.lower())


def _add_dead_letters(page: Page, shares: "SharePartitions", groups_max: int) -> None:
    letters = shares.dead_letters
    if letters is None:
        return
    page.add(families.DEAD_LETTERS, letters.written.total())
    page.add(families.DEAD_LETTER_FAILURES, letters.failed.total())
    held_up = Counter(place.group_id for place in letters.problems)
    for group, partitions in held_up.most_common(groups_max):
        page.add(families.HELD_UP, partitions, group)
