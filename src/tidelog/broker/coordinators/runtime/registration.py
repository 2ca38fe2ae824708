"""What a coordinator tells the runtime about itself."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Generic, TypeVar

from tidelog.base.ids import Epoch, Offset
from tidelog.broker.coordinators.internal_topics import StateTopic
from tidelog.broker.coordinators.runtime.loading import ReplayBatch, replay_records, until_committed
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.coordination.shard import Shard
from tidelog.metadata.image.image import ImageDelta
from tidelog.replication.partition import Partition

ShardT = TypeVar("ShardT", bound=Shard)

ANSWER_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Registration(Generic[ShardT]):
    name: str
    """What the coordinator looks after, as log lines call it: "groups"."""
    key_type: int | None
    """By which FindCoordinator asks for it; None where clients do not look for it."""
    topic: str
    """The internal topic. Each partition of it is the log of one shard."""
    new_topic: Callable[[], StateTopic]
    """How to create the topic when a client first looks for the coordinator."""
    new_shard: Callable[[Epoch], ShardT]
    """Gets the leader epoch of the partition. Called anew for each try to load it."""
    on_load_retried: Callable[[ShardT, ShardT], None] = lambda failed, fresh: None
    """A shard could not be loaded; a fresh one takes its place."""
    answer_seconds: Callable[[], float] = lambda: ANSWER_SECONDS
    """How long a client waits for its decision to be committed before it is told to try again."""
    until_loadable: Callable[[Partition], Awaitable[None]] = until_committed
    """What to wait for before the log is read."""
    replay_batch: ReplayBatch[ShardT] = replay_records
    on_served: Callable[[ServedPartition[ShardT]], None] = lambda served: None
    """A shard was loaded and serves from now on."""
    on_left: Callable[[int], None] = lambda index: None
    """Another broker serves the partition from now on, or none does."""
    after_step: Callable[[ServedPartition[ShardT]], None] = lambda served: None
    """Called after each change of a shard, to take what it wants to send."""
    on_appended: Callable[[ShardT, Offset], None] | None = None
    """Gets the offset of the first record of a batch, before the shard applies its records."""
    on_change: Callable[[ImageDelta], Coroutine[None, None, None] | None] = lambda delta: None
    """The metadata changed, and leadership is up to date. A coroutine holds up the answer to the change."""
