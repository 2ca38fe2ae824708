"""The collectors of a broker's state, added in one place; only a broker that serves metrics imports it."""

from contextlib import AsyncExitStack

from tidelog.base.ids import NO_EPOCH
from tidelog.broker.metrics.cluster import ClusterCollector
from tidelog.broker.metrics.end_offsets import EndOffsets
from tidelog.broker.metrics.groups import GroupsCollector
from tidelog.broker.metrics.image_changes import ImageChanges
from tidelog.broker.metrics.lag import LagCollector
from tidelog.broker.metrics.partitions import PartitionsCollector
from tidelog.broker.metrics.quotas import QuotasCollector
from tidelog.broker.metrics.raft import RaftCollector
from tidelog.broker.metrics.registry import RegistryCollector
from tidelog.broker.metrics.share_lag import ShareLagCollector
from tidelog.broker.metrics.shares import SharesCollector
from tidelog.broker.metrics.storage import StorageCollector
from tidelog.broker.metrics.syncs import SyncTimes
from tidelog.broker.metrics.transactions import TransactionsCollector
from tidelog.broker.requests.context import Services
from tidelog.metrics.collectors import Collectors


def add_collectors(opened: AsyncExitStack, services: Services) -> None:
    """From now on a scrape shows the state of this broker, and counts what changes."""
    collectors, metadata = services.collectors, services.metadata
    add_state_collectors(collectors, services)
    changes = ImageChanges(metadata.node_id, lambda: services.lifecycle.epoch != NO_EPOCH)
    metadata.on_change(changes.on_change)
    collectors.add("metadata changes", changes.collect)
    collectors.add("syncs", SyncTimes(services.partitions).collect)
    ends = EndOffsets(services)
    ends.start()
    opened.push_async_callback(ends.close)
    collectors.add("lag", LagCollector(services, ends, services.clock).collect)
    collectors.add("queues", ShareLagCollector(services, ends, services.clock).collect)


def add_state_collectors(collectors: Collectors, services: Services) -> None:
    """Those that only look: what they show is there without them."""
    collectors.add("cluster", ClusterCollector(services).collect)
    collectors.add("quorum", RaftCollector(services.metadata).collect)
    collectors.add("partitions", PartitionsCollector(services).collect)
    collectors.add("storage", StorageCollector(services.partitions, services.clock).collect)
    collectors.add("groups", GroupsCollector(services).collect)
    collectors.add("share groups", SharesCollector(services).collect)
    collectors.add("transactions", TransactionsCollector(services.transactions, services.clock).collect)
    collectors.add("schema registry", RegistryCollector(services).collect)
    collectors.add("quotas", QuotasCollector(services).collect)
