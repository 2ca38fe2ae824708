"""A broker: real ports wired to the rooms, started and stopped in order. Nothing else wires them."""

import logging
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from socket import gethostname

from tidelog.base.config import BrokerConfig
from tidelog.base.disk import PosixDisk
from tidelog.base.errors import StorageError
from tidelog.base.ids import Epoch, uuid_from_random
from tidelog.base.listener import Listener
from tidelog.base.ports import Clock, Disk, Random
from tidelog.broker.cleaner import LogCleaner
from tidelog.broker.context import Services
from tidelog.broker.data_folders import DataFolders
from tidelog.broker.dispatch import Dispatcher
from tidelog.broker.fetch_sessions import FetchSessions
from tidelog.broker.flusher import Flusher
from tidelog.broker.groups import Groups
from tidelog.broker.hosted import HostedPartitions
from tidelog.broker.housekeeping import Housekeeping
from tidelog.broker.log_moves import LogMoves
from tidelog.broker.metadata_service import MetadataService
from tidelog.broker.producer_ids import ProducerIds
from tidelog.broker.throttle import Unlimited
from tidelog.metadata.brokers import decide_create_cluster, decide_register_broker
from tidelog.metadata.elections import decide_epochs_after_crash
from tidelog.metadata.log import MetadataLog
from tidelog.metadata.producer_ids import decide_producer_id_block
from tidelog.metadata.records import Endpoint
from tidelog.server.clock import SystemClock, SystemRandom
from tidelog.server.disk_threads import DiskThreads
from tidelog.server.limits import Limits
from tidelog.server.open_files import raise_open_file_limit
from tidelog.server.server import Server
from tidelog.server.tickers import Chore, Tickers

log = logging.getLogger("tidelog.node")

METADATA_FOLDER = "__cluster_metadata-0"
FLUSH_RULES_SECONDS = 0.5
PRODUCER_EXPIRY_SECONDS = 600


class Node:
    """`await node.start()`, use it, `await node.stop()`; on one running event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        disk: Disk | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.config = config
        self._disk = disk or PosixDisk()
        self._clock = clock or SystemClock()
        self._random = random or SystemRandom()
        self._opened = AsyncExitStack()
        self._endpoints: list[Endpoint] = []

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given to find this broker."""
        return ",".join(f"{_bracketed(where.host)}:{where.port}" for where in self._endpoints)

    @property
    def port(self) -> int:
        return self._endpoints[0].port

    async def start(self) -> None:
        """Open everything and listen. What cannot start lets go of all it took and raises."""
        async with AsyncExitStack() as opened:
            await self._open(opened)
            self._opened = opened.pop_all()

    async def stop(self) -> None:
        """Answer what is under way, sync everything, and leave a mark that spares the next start a scan."""
        await self._opened.aclose()

    async def _open(self, opened: AsyncExitStack) -> None:
        """Each part pushes how it ends, so that parts end in the reverse of the order they began in."""
        config, clock, node_id = self.config, self._clock, self.config.int("node.id")
        for warning in config.warnings:
            log.warning("%s", warning)
        raise_open_file_limit()
        folders = DataFolders.open(
            self._disk,
            _absolute(config.list("log.dirs")),
            cluster_id=config.optional_text("cluster.id"),
            node_id=node_id,
            random=self._random,
        )
        opened.callback(folders.close)
        threads = DiskThreads(threads=config.int("background.threads"))
        opened.push_async_callback(threads.close)
        metadata_log = MetadataLog.open(
            self._disk, f"{folders.first.path}/{METADATA_FOLDER}", now_ms=clock.now_ms()
        )
        opened.callback(metadata_log.close)
        metadata = MetadataService(metadata_log, config, node_id, clock, threads.run)
        _settle_cluster(metadata, folders)
        if not folders.all_clean:
            metadata.change_at_start(lambda image: decide_epochs_after_crash(image, broker_id=node_id))
        flusher = Flusher(threads.run)
        partitions = HostedPartitions(node_id, folders, flusher, clock, threads.run)
        opened.push_async_callback(partitions.close)
        await partitions.open_all(metadata.image, metadata.config)
        metadata.on_change(lambda delta: partitions.on_change(delta, metadata.config))
        moves = LogMoves(self._disk, partitions, clock, threads.run)
        opened.push_async_callback(moves.close)
        groups = Groups(metadata, partitions, clock, self._random, threads.run)
        groups.start()
        metadata.on_change(groups.on_change)
        dispatcher = Dispatcher(self._services(metadata, partitions, moves, groups))
        opened.push_async_callback(dispatcher.drain)
        server = Server(dispatcher, Limits.from_config(metadata.config))
        server.start(config.listeners())
        opened.push_async_callback(self._drain, server, partitions, groups)
        metadata.on_change(lambda _: server.change_limits(Limits.from_config(metadata.config)))
        # No await between listening and registering: the first request already finds this broker's address.
        self._endpoints = _endpoints(config.advertised_listeners(), server.addresses)
        self._register(metadata, metadata_log.end, folders)
        cleaner = LogCleaner(partitions, clock, lambda: metadata.config, threads.run)
        opened.push_async_callback(cleaner.close)
        chores = Housekeeping(partitions, flusher, clock, threads.run)
        opened.callback(chores.close)
        tickers = self._start_chores(metadata, chores, cleaner)
        opened.push_async_callback(tickers.stop)

    async def _drain(self, server: Server, partitions: HostedPartitions, groups: Groups) -> None:
        """Whoever waits for more data or for the rest of its group is answered now."""
        server.stop_accepting()
        partitions.wake_readers()
        await groups.close()
        await server.drain(self.config.int("shutdown.grace.ms") / 1000)

    def _services(
        self, metadata: MetadataService, partitions: HostedPartitions, moves: LogMoves, groups: Groups
    ) -> Services:
        config = self.config
        return Services(
            clock=self._clock,
            random=self._random,
            metadata=metadata,
            partitions=partitions,
            moves=moves,
            groups=groups,
            sessions=FetchSessions(
                self._clock,
                self._random,
                slots=config.int("max.incremental.fetch.session.cache.slots"),
                evict_after_ms=config.int("min.incremental.fetch.session.eviction.ms"),
            ),
            producer_ids=ProducerIds(lambda: _next_block(metadata)),
            throttle=Unlimited(),
        )

    def _register(self, metadata: MetadataService, epoch: Epoch, folders: DataFolders) -> None:
        incarnation = uuid_from_random(self._random.bytes(16))
        metadata.change_at_start(
            lambda image: decide_register_broker(
                image,
                broker_id=metadata.node_id,
                epoch=epoch,
                incarnation=incarnation,
                endpoints=self._endpoints,
                directories=folders.ids,
            )
        )

    def _start_chores(self, metadata: MetadataService, chores: Housekeeping, cleaner: LogCleaner) -> Tickers:
        tickers = Tickers()

        def every(setting: str, chore: Chore, name: str) -> None:
            tickers.every(lambda: metadata.config.int(setting) / 1000, chore, name)

        every("log.retention.check.interval.ms", chores.retire_segments, "retention")
        every("durability.interval.ms", chores.sync_by_interval, "interval sync")
        every("log.flush.offset.checkpoint.interval.ms", chores.checkpoint, "checkpoint")
        every("log.cleaner.backoff.ms", cleaner.clean_once, "compaction")
        tickers.every(lambda: FLUSH_RULES_SECONDS, chores.sync_by_topic_rules, "flush rules")
        tickers.every(lambda: PRODUCER_EXPIRY_SECONDS, chores.forget_producers, "producer expiry")
        return tickers


def _settle_cluster(metadata: MetadataService, folders: DataFolders) -> None:
    """The folders and the metadata in them must speak of one cluster."""
    cluster_id = folders.cluster_id
    [known] = metadata.change_at_start(lambda image: decide_create_cluster(image, cluster_id=cluster_id))
    if known != cluster_id:
        raise StorageError(
            f"{folders.first.path} is marked as a folder of cluster {cluster_id}, but the metadata in it is "
            f"that of cluster {known}; put the folder back together as it was, or use another one"
        )


def _absolute(paths: Sequence[str]) -> list[str]:
    return [os.path.abspath(path) for path in paths]


def _endpoints(advertised: tuple[Listener, ...], bound: list[Listener]) -> list[Endpoint]:
    """What clients are told: the advertised host, and the real port where 0 was asked for."""
    return [
        Endpoint(told.name, _reachable_host(told), told.port or real.port)
        for told, real in zip(advertised, bound, strict=True)
    ]


def _reachable_host(listener: Listener) -> str:
    """Listening everywhere is not an address that a client can use."""
    return gethostname() if listener.is_every_interface else listener.host


async def _next_block(metadata: MetadataService) -> range:
    [block] = await metadata.change(lambda image: decide_producer_id_block(image, broker_id=metadata.node_id))
    return block


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
