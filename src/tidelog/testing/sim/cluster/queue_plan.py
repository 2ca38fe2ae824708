"""From a seed to what share groups do in a run: topics, groups with their settings, members and producers."""

import random

import msgspec

from tidelog.testing.share_history import ShareGroupPlan

DLQ_PREFIX = "dlq."


class QueuePlan(msgspec.Struct, frozen=True):
    topics: dict[str, int]
    groups: tuple[ShareGroupPlan, ...]
    members: int
    """Of each group."""
    producers: int = 1
    sends_per_second: float = 6.0
    batch_records: tuple[int, ...] = (1, 3, 10, 40)
    transactors: int = 0
    scheduled: bool = False
    """Producers send headers that hold records back."""
    deletes: bool = False
    """`share.delete.acknowledged`."""
    dead_letter_topics: str = "made"
    """made: before the groups begin; auto: by the brokers; late: when the faults are over."""
    state_partitions: int = 2
    updates_per_snapshot: int = 5

    def describe(self) -> str:
        topics = ", ".join(f"{name}({count})" for name, count in self.topics.items())
        groups = ", ".join(_text(group) for group in self.groups)
        extras = f", {self.transactors} transactional producers" if self.transactors else ""
        extras += ", scheduled records" if self.scheduled else ""
        extras += ", deleted when done" if self.deletes else ""
        if any(group.dead_letter_topic for group in self.groups):
            extras += f", dead-letter topics {self.dead_letter_topics}"
        return f"queues {topics}, share groups {groups} of {self.members} members{extras}"


def _text(group: ShareGroupPlan) -> str:
    extras = ", read_committed" if group.committed_only else ""
    extras += f", backoff {group.backoff_ms} ms" if group.backoff_ms else ""
    extras += f", dead letters to {group.dead_letter_topic}" if group.dead_letter_topic else ""
    return f"{group.group} (lock {group.lock_ms} ms, {group.delivery_limit} deliveries{extras})"


def queue_plan_of(seed: int) -> QueuePlan:
    chance = random.Random(f"queues of scenario {seed}")
    has_transactions = chance.random() < 0.25
    groups = tuple(
        _group(chance, f"share-{number}", has_transactions) for number in range(chance.choice((1, 1, 2)))
    )
    return QueuePlan(
        topics={"q": chance.choice((1, 1, 2, 3))},
        groups=groups,
        members=chance.choice((1, 2, 3)),
        producers=chance.choice((1, 1, 2)),
        sends_per_second=chance.choice((3.0, 6.0)),
        batch_records=chance.choice(((1, 3, 10), (1, 10, 40), (1,))),
        transactors=chance.choice((1, 2)) if has_transactions else 0,
        scheduled=chance.random() < 0.3,
        deletes=chance.random() < 0.2,
        dead_letter_topics=chance.choice(("made", "made", "auto", "late")),
        state_partitions=chance.choice((1, 2, 3)),
        updates_per_snapshot=chance.choice((0, 3, 20)),
    )


def _group(chance: random.Random, name: str, has_transactions: bool) -> ShareGroupPlan:
    has_dead_letters = chance.random() < 0.4
    return ShareGroupPlan(
        group=name,
        delivery_limit=chance.choice((2, 3, 5)),
        lock_ms=chance.choice((1_000, 1_000, 2_000)),
        locks_max=100,
        committed_only=has_transactions and chance.random() < 0.7,
        backoff_ms=chance.choice((0, 0, 100, 400)),
        backoff_max_ms=800,
        dead_letter_topic=f"{DLQ_PREFIX}{name}" if has_dead_letters else "",
        dead_letter_partitions=chance.choice((1, 2)) if has_dead_letters else 0,
    )
