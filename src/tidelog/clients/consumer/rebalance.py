"""Listeners for the partitions that a group assigns to this consumer or revokes."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from tidelog.clients.records import TopicPartition

PartitionsCallback: TypeAlias = Callable[[list[TopicPartition]], None]
AsyncPartitionsCallback: TypeAlias = Callable[[list[TopicPartition]], Awaitable[None] | None]


class RebalanceListener(NamedTuple):
    on_assign: PartitionsCallback | None = None
    """Before the first message of these partitions; `seek` and `pause` work here."""
    on_revoke: PartitionsCallback | None = None
    """Before they are given up; the place for a last commit."""
    on_lost: PartitionsCallback | None = None
    """They are gone already, others may read them: no commit is possible. Without it, on_revoke is called."""
