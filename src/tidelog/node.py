"""A broker: real ports wired to the rooms, started and stopped in order. Nothing else wires them."""

import asyncio
import gc
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from socket import gethostname
from typing import TYPE_CHECKING

from tidelog.base.config.config import BrokerConfig
from tidelog.base.disk import PosixDisk
from tidelog.base.ids import NO_EPOCH, Epoch, uuid_from_random
from tidelog.base.listener import Listener
from tidelog.base.ports import Clock, Disk, Random
from tidelog.broker.controller.bootstrap_file import read_bootstrap, retire_bootstrap
from tidelog.broker.controller.broker_lifecycle import BrokerLifecycle
from tidelog.broker.controller.cluster_start import (
    address_of,
    check_cluster,
    check_company,
    check_disk,
    check_votes,
    inter_broker_endpoint,
    join_quorum,
    raft_of,
    until_following,
)
from tidelog.broker.controller.controller import Controller
from tidelog.broker.controller.metadata_applier import MetadataApplier
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.controller.metadata_stages import listen, metadata_stages
from tidelog.broker.controller.quorum import Quorum
from tidelog.broker.coordinators.groups import register_groups
from tidelog.broker.coordinators.internal_topics import InternalTopics
from tidelog.broker.coordinators.producer_ids import ProducerIds
from tidelog.broker.coordinators.runtime.runtime import CoordinatorRuntime
from tidelog.broker.coordinators.transaction_verification import TransactionVerification
from tidelog.broker.coordinators.transactions import Transactions
from tidelog.broker.faults import LOOK_SECONDS as FAULTS_SECONDS
from tidelog.broker.faults import Faults
from tidelog.broker.health import failure_of
from tidelog.broker.log_dirs.cleaner import LogCleaner
from tidelog.broker.log_dirs.flusher import Flusher
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.log_dirs.housekeeping import Housekeeping
from tidelog.broker.log_dirs.log_dir_reports import REPORT_SECONDS, LogDirReports
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.log_dirs.log_moves import LogMoves
from tidelog.broker.log_dirs.log_reopening import LOOK_SECONDS, LogReopening
from tidelog.broker.peers.peers import Peers
from tidelog.broker.replication.loss_repair import REPAIR_SECONDS, LossRepair
from tidelog.broker.replication.service import Replication
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Services
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.fetch_sessions import FetchSessions
from tidelog.broker.requests.forwarded_once import ForwardedOnce
from tidelog.broker.requests.forwarding import Forwarding
from tidelog.broker.requests.internal_requests import InternalRequests
from tidelog.broker.requests.produce_shortcut import ProduceShortcut
from tidelog.broker.requests.routes import Routes, WatchResponses
from tidelog.broker.security.authorizer import Authorizer, authorizer_of
from tidelog.broker.security.quota_switch import QuotaSwitch
from tidelog.broker.trusted_clock import TrustedClock
from tidelog.groups.counters import GroupCounters
from tidelog.metadata.brokers.features import SUPPORTED_FEATURES
from tidelog.metadata.brokers.registration_rules import CRASHED_SYNCED
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.records import Endpoint
from tidelog.metadata.security.bootstrap import Bootstrap
from tidelog.metadata.store.store import DIRECTORY, QuorumStore
from tidelog.replication.log_sync import Durability
from tidelog.replication.traffic import TrafficBook
from tidelog.server.clock import SystemClock, SystemRandom, elapsed_seconds
from tidelog.server.connection.shared_state import RequestDispatcher
from tidelog.server.disk_threads import DiskThreads
from tidelog.server.log_dir_disk import disk_with_keys
from tidelog.server.memory_limits import memory_source
from tidelog.server.memory_watch import MemoryWatch, give_back_free_memory
from tidelog.server.node_ports import NodeNetwork, Serving, Threads
from tidelog.server.open_files import file_limits, raise_open_file_limit
from tidelog.server.peer_connections.peer_network import PeerNetwork
from tidelog.server.process_memory import give_back_large_blocks
from tidelog.server.tcp_network import TcpNetwork
from tidelog.server.tickers import Chore, Tickers
from tidelog.wire.apis import ApiKey

if TYPE_CHECKING:  # a broker without metrics does not import it
    from tidelog.broker.metrics.request_metrics import RequestMetrics
    from tidelog.server.metrics.setup import MetricsPort

log = logging.getLogger("tidelog.node")

SEALED_SECONDS = 2.0
FLUSH_RULES_SECONDS = 0.5
TRANSACTION_CALL_SECONDS = 15.0
PRODUCER_EXPIRY_SECONDS = 600


class BrokerNode:
    """`await node.start()`, use it, `await node.stop()`; on one running event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        disk: Disk | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        network: NodeNetwork | None = None,
        threads: Threads | None = None,
    ) -> None:
        self.config = config
        self.node_id = config.int("node.id")
        self._disk = self._disk_below = disk or PosixDisk()
        self._clock = clock or SystemClock()
        self._random = random or SystemRandom()
        self._network = network
        self._threads = threads
        self._memory = MemoryWatch(memory_source() if threads is None else None)
        self._opened = AsyncExitStack()
        self._endpoints: list[Endpoint] = []
        self._on_abort: list[Callable[[], None]] = []
        self._metrics: MetricsPort | None = None
        self.services: Services
        self.quorum: Quorum

    @property
    def bootstrap_servers(self) -> str:
        """The addresses with which clients find this broker: a listener that is named for brokers is none."""
        own = self.config.optional_text("inter.broker.listener.name")
        clients = [where for where in self._endpoints if where.listener != own] or self._endpoints
        return ",".join(address_of(where.host, where.port) for where in clients)

    @property
    def inter_broker_address(self) -> str:
        where = inter_broker_endpoint(self.config, self._endpoints)
        return address_of(where.host, where.port)

    @property
    def port(self) -> int:
        return self._endpoints[0].port

    @property
    def metrics_address(self) -> str | None:
        """`host:port` of the HTTP port for metrics and health; None where it is off."""
        if self._metrics is None:
            return None
        where = self._metrics.address
        return address_of(_reachable_host(where), where.port)

    @property
    def metrics_port(self) -> int | None:
        return None if self._metrics is None else self._metrics.address.port

    @property
    def failure(self) -> Exception | None:
        """Why this broker can no longer take part in its cluster and should be stopped; None if it can."""
        return failure_of(self.services)

    async def start(self) -> None:
        """Open everything and listen. A failed start releases all that it has taken, and raises."""
        async with AsyncExitStack() as opened:
            await self._open(opened)
            self._opened = opened.pop_all()

    async def stop(self) -> None:
        """Hand over leadership, answer requests under way, sync everything, and mark the stop as clean, which
        spares the next start a scan."""
        await self._opened.aclose()

    def abort(self) -> None:
        """End as if the process was killed: release sockets and locks, and leave everything else as it is.

        Tasks on the loop end with the loop.
        """
        for release in self._on_abort:
            release()

    async def _open(self, opened: AsyncExitStack) -> None:
        """Each part registers how it ends, so that parts end in the reverse of the order they began in."""
        config, clock = self.config, self._clock
        for warning in config.warnings:
            log.warning("%s", warning)
        raise_open_file_limit()
        give_back_large_blocks()
        log_dirs = self._open_log_dirs()
        opened.callback(log_dirs.close)
        self._on_abort.append(log_dirs.close)
        bootstrap = read_bootstrap(self._disk, log_dirs.first.path, config.optional_text("cluster.id"))
        threads = self._threads or DiskThreads(threads=config.int("background.threads"))
        opened.push_async_callback(threads.close)
        network = self._network or TcpNetwork(PeerNetwork(self._random))
        opened.push_async_callback(network.close)
        network.secure(config)
        store = QuorumStore.open(self._disk, f"{log_dirs.first.path}/{DIRECTORY}")
        opened.callback(store.close)
        check_votes(config, log_dirs, store)

        applier = MetadataApplier(store, clock, threads.run)
        metadata = MetadataService(applier, config, self.node_id)
        flusher = Flusher(threads.run)
        partitions = HostedPartitions(
            self.node_id,
            log_dirs,
            flusher,
            clock,
            threads.run,
            traffic=TrafficBook(config.int("metrics.topics.max")),
        )
        services = self.services = self._services(
            metadata, log_dirs, partitions, network, threads, bootstrap=bootstrap
        )
        self._reports = LogDirReports(
            metadata, log_dirs, services.peers, lambda: services.lifecycle.epoch, partitions.damaged
        )
        if any(protocol.is_sasl for protocol in config.security_protocols().values()):
            services.put_gate = self._gates(opened, metadata, threads)
        measured = self._request_metrics(opened)
        routes = self._routes(opened, None if measured is None else measured.counting)
        dispatcher = Dispatcher(services, routes)
        internal = InternalRequests(services, routes)
        services.peers.call_here = internal.call
        services.answer_forwarded = internal.answer_forwarded
        applier.on_role_change = services.controller.on_role_change
        server = self._listen(opened, network, dispatcher, threads, measured)
        self._endpoints = _endpoints(config.advertised_listeners(), server.addresses)
        me = inter_broker_endpoint(config, self._endpoints)
        raft = raft_of(config, store, storage_id=log_dirs.first.id, me=me, clock=clock, random=self._random)
        check_disk(config, log_dirs, raft)
        self.quorum = join_quorum(raft, store, services, applier, threads.run)
        opened.push_async_callback(self.quorum.stop)
        opened.push_async_callback(applier.stop)
        opened.push_async_callback(services.controller.close)
        opened.callback(services.peers.close)

        await until_following(services, self.quorum)
        check_cluster(config, metadata.image.cluster_id)
        check_company(config, raft, metadata.image)
        log_dirs.join_cluster(metadata.image.cluster_id)
        retire_bootstrap(self._disk, log_dirs.first.path, bootstrap, metadata.image)
        await self._serve(opened, network, server, dispatcher, flusher)

    def _listen(
        self,
        opened: AsyncExitStack,
        network: NodeNetwork,
        dispatcher: Dispatcher,
        threads: Threads,
        measured: "RequestMetrics | None",
    ) -> Serving:
        """Before anything else: voters need each other to elect a leader. Clients with a listener of their
        own are refused until this broker can serve them; others wait."""
        serving: RequestDispatcher = dispatcher
        if measured is not None:
            from tidelog.broker.metrics.measured_dispatcher import MeasuredDispatcher

            serving = MeasuredDispatcher(dispatcher, measured, asyncio.get_running_loop())
        server = network.listen(
            serving,
            self.config.listeners(),
            self._memory.fitting(self.config),
            first=self.services.inter_broker_listener,
        )
        opened.push_async_callback(server.drain, 0.0)
        self._on_abort.insert(0, server.close)
        if measured is not None and self.config.int("metrics.port"):
            self._open_metrics(opened, server, threads, measured)
        return server

    def _open_metrics(
        self, opened: AsyncExitStack, server: Serving, threads: Threads, requests: "RequestMetrics"
    ) -> None:
        """From now on: probes see a broker that waits for its cluster, and one that stops."""
        from tidelog.broker.metrics.setup import add_collectors
        from tidelog.server.metrics.setup import open_metrics

        add_collectors(opened, self.services)
        self._metrics = open_metrics(opened, self.config, self.services, server, threads, requests=requests)
        self._on_abort.insert(0, self._metrics.abort)

    def _request_metrics(self, opened: AsyncExitStack) -> "RequestMetrics | None":
        """Only where metrics are served or slow requests logged or traced; else requests pay nothing."""
        slow_ms = self.config.int("log.slow.requests.ms")
        endpoint = self.config.text("tracing.otlp.endpoint")
        if not self.config.int("metrics.port") and not slow_ms and not endpoint:
            return None
        from tidelog.broker.metrics.request_metrics import RequestMetrics
        from tidelog.broker.metrics.slow_requests import log_slow_request

        measured = RequestMetrics()
        if slow_ms:
            measured.counted_seconds = slow_ms / 1000
            measured.watch_slow(slow_ms / 1000, log_slow_request)
        if endpoint:
            from tidelog.server.tracing import open_tracing

            open_tracing(opened, self.config, self.services, measured)
        self.services.count_error = measured.count_error
        self.services.collectors.add("requests", measured.collect)
        return measured

    def _routes(self, opened: AsyncExitStack, watch_responses: WatchResponses | None) -> Routes:
        services, config = self.services, self.config
        if not (config["audit.file"] or config["audit.topic"]):
            return Routes({ApiKey.PRODUCE: ProduceShortcut(services)}, None, watch_responses)
        from tidelog.broker.requests.audit_setup import audited_routes, open_audit

        services.audit = open_audit(opened, services, config)
        return audited_routes(services, services.audit, watch_responses)

    def _gates(
        self, opened: AsyncExitStack, metadata: MetadataService, threads: Threads
    ) -> Callable[[ClientConnection], None]:
        """Passwords and tokens are checked on threads of their own: a flood of them must not delay the disk,
        nor a slow identity provider the passwords."""
        # Clusters without SASL start without it.
        from tidelog.broker.requests.gate import gates
        from tidelog.broker.security.sasl_listener import Parts, sasl_listeners

        passwords = tokens = threads
        if self._threads is None:
            passwords = DiskThreads("passwords", threads=2, waiting_max=1_000)
            tokens = DiskThreads("tokens", threads=2, waiting_max=1_000)
            opened.push_async_callback(passwords.close)
            opened.push_async_callback(tokens.close)
        parts = Parts(
            self.config,
            lambda: metadata.image,
            self._clock,
            self._random,
            passwords.run,
            tokens.run,
            self.services.inter_broker_listener,
        )
        return gates(
            sasl_listeners(parts),
            self._clock,
            lambda: self.services.audit,
            self.services.authentication_failures,
        )

    def _open_log_dirs(self) -> LogDirs:
        paths = _absolute(self.config.list("log.dirs"))
        self._disk = disk_with_keys(self._disk_below, paths, self.config)
        log_dirs = LogDirs.open(
            self._disk,
            paths,
            cluster_id=self.config.optional_text("cluster.id"),
            node_id=self.node_id,
            random=self._random,
        )
        limits = file_limits()
        log_dirs.reserve_descriptors(limits.logs, limits.sealed_segments)
        return log_dirs

    async def _serve(
        self,
        opened: AsyncExitStack,
        network: NodeNetwork,
        server: Serving,
        dispatcher: Dispatcher,
        flusher: Flusher,
    ) -> None:
        """The metadata is up to date: open the logs, join the cluster, and let clients in."""
        services = self.services
        metadata, partitions, threads = services.metadata, services.partitions, services.run_in_thread
        opened.push_async_callback(partitions.close)
        self._quotas = QuotaSwitch(services, self._clock, self.config)

        def change_limits() -> None:
            self._quotas.follow(metadata.image.security.quotas)
            server.change_limits(self._memory.fitting(metadata.config, self._quotas.address_rates))
            network.follow(metadata.config)

        await partitions.open_all(metadata.image, metadata.config)
        listen(metadata, metadata_stages(services, change_limits))
        change_limits()  # by what came before this moment
        await partitions.catch_up(metadata)
        opened.push_async_callback(services.moves.close)
        opened.push_async_callback(dispatcher.drain)
        opened.callback(services.forwarding.close)
        opened.push_async_callback(services.replication.close)
        opened.push_async_callback(self._drain, server, partitions)
        opened.push_async_callback(services.lifecycle.stop)
        self._faults = Faults(services, flusher, self._clock, self._trusted, self.quorum)
        services.collectors.add("faults", self._faults.collect)
        services.collectors.add("memory", self._memory.collect)
        await self._faults.look()
        await self._join()
        dispatcher.open()
        server.open()
        cleaner = LogCleaner(partitions, self._trusted, lambda: metadata.config, threads, partitions.counters)
        opened.push_async_callback(cleaner.close)
        chores = Housekeeping(partitions, flusher, self._trusted, threads)
        opened.callback(chores.close)
        self._memory.begin(lambda is_short: self._relieve(server, is_short))
        tickers = self._start_chores(chores, cleaner)
        opened.push_async_callback(tickers.stop)
        if services.audit is not None:
            opened.push_async_callback(services.audit.close)
        opened.push_async_callback(self._leave)
        if self._metrics is not None:
            await self._metrics.ready()

    def _relieve(self, server: Serving, is_short: bool) -> None:
        server.relieve(is_short)
        if is_short:
            self.services.partitions.log_dirs.warm.cool_all()
            gc.collect()
            self.services.run_in_thread(give_back_free_memory)

    async def _join(self) -> None:
        """Register, take the roles that the metadata assigns, and wait until this broker is unfenced."""
        services = self.services
        lifecycle, partitions, log_dirs = (
            services.lifecycle,
            services.partitions,
            services.partitions.log_dirs,
        )
        is_alone = [voter.id for voter in self.quorum.raft.configuration.voters] == [self.node_id]
        if is_alone:
            # No other broker could lead meanwhile, so there is nothing to wait for.
            epoch = await services.controller.register(
                self._identity(log_dirs),
                log_dirs.cluster_id,
                fenced=False,
                previous_epoch=self._previous_epoch(log_dirs),
            )
            lifecycle.epoch = epoch
        else:
            await lifecycle.register()
        await self._reports.report_damage(self.config.int("broker.session.timeout.ms") / 1000)
        services.replication.start()
        await partitions.take_roles()
        services.coordinators.start()
        lifecycle.start()
        if not is_alone:
            await lifecycle.until_unfenced()

    def _identity(self, log_dirs: LogDirs) -> BrokerImage:
        return BrokerImage(
            self.node_id,
            NO_EPOCH,
            self._incarnation,
            {endpoint.listener: endpoint for endpoint in self._endpoints},
            self.config.optional_text("broker.rack") or None,  # an empty variable is no rack
            tuple(log_dirs.ids),
            features=SUPPORTED_FEATURES,
        )

    def _previous_epoch(self, log_dirs: LogDirs) -> Epoch:
        """Tells the controller whether the logs may lack records since the previous process ended."""
        if log_dirs.clean_epoch != NO_EPOCH:
            return log_dirs.clean_epoch
        is_synced = self.services.config.text("durability") == Durability.FSYNC.value
        return CRASHED_SYNCED if is_synced else NO_EPOCH

    async def _leave(self) -> None:
        """Controlled shutdown: other brokers take over before this one stops, so that no request fails."""
        services, config = self.services, self.services.config
        services.is_stopping = True
        others = [
            broker
            for broker in services.metadata.image.brokers.values()
            if broker.id != self.node_id and not broker.fenced
        ]
        if others and config.bool("controlled.shutdown.enable") and self.failure is None:
            await services.lifecycle.leave(config.int("controlled.shutdown.timeout.ms") / 1000)
        await services.lifecycle.stop()
        await self.quorum.hand_over()

    async def _drain(self, server: Serving, partitions: HostedPartitions) -> None:
        """Answer requests that wait for more data or for the rest of their group, then close connections."""
        server.stop_accepting()
        self.services.forwarding.leave()
        partitions.wake_readers()
        await self.services.coordinators.close()
        await self.services.transactions.close()
        await self.services.verification.close()
        await server.drain(self.config.int("shutdown.grace.ms") / 1000)

    def _services(
        self,
        metadata: MetadataService,
        log_dirs: LogDirs,
        partitions: HostedPartitions,
        network: NodeNetwork,
        threads: Threads,
        *,
        bootstrap: Bootstrap | None,
    ) -> Services:
        config, clock, random = self.config, self._clock, self._random
        elapsed = elapsed_seconds if isinstance(clock, SystemClock) else clock.monotonic
        self._trusted = TrustedClock(clock, elapsed, lambda: metadata.config.int("clock.jump.hold.ms"))
        self._incarnation = uuid_from_random(random.bytes(16))
        listener = config.inter_broker_listener()
        peers = Peers(
            network,
            self.node_id,
            lambda node_id: metadata.address_of(node_id, listener),
            lambda: metadata.controller_id,
            resolve_sends=metadata.quorum_address_of,
        )
        forwarding = Forwarding(metadata, peers, self._incarnation)
        coordinators = CoordinatorRuntime(
            metadata,
            partitions,
            InternalTopics(metadata, forwarding),
            clock=self._trusted,
            run_in_thread=threads.run,
        )
        lifecycle = BrokerLifecycle(
            metadata,
            peers,
            clock,
            lambda: self._identity(log_dirs),
            partitions.failed_log_dirs,
            previous_epoch=lambda: self._previous_epoch(log_dirs),
        )
        log_dirs.broker_epoch = lambda: lifecycle.epoch
        producer_ids = ProducerIds(lifecycle.next_producer_ids)
        group_counters = GroupCounters()
        groups = register_groups(coordinators, random, group_counters)
        transactions = Transactions(
            coordinators,
            clock=self._trusted,
            take_id=producer_ids.take,
            send_markers=lambda node, markers: peers.call(
                node, ApiKey.WRITE_TXN_MARKERS, 2, markers, timeout=TRANSACTION_CALL_SECONDS
            ),
        )
        return Services(
            clock=clock,
            random=random,
            metadata=metadata,
            controller=Controller(
                metadata, self._trusted, random, config.optional_text("cluster.id"), bootstrap
            ),
            peers=peers,
            forwarding=forwarding,
            forwarded_once=ForwardedOnce(),
            lifecycle=lifecycle,
            replication=Replication(
                metadata, partitions, peers, clock, random, broker_epoch=lambda: lifecycle.epoch
            ),
            partitions=partitions,
            moves=LogMoves(
                self._disk,
                partitions,
                clock,
                threads.run,
                rate=lambda: metadata.config.int("replica.alter.log.dirs.io.max.bytes.per.second"),
            ),
            coordinators=coordinators,
            groups=groups,
            group_counters=group_counters,
            sessions=FetchSessions(
                clock,
                random,
                slots=config.int("max.incremental.fetch.session.cache.slots"),
                evict_after_ms=config.int("min.incremental.fetch.session.eviction.ms"),
            ),
            transactions=transactions,
            verification=TransactionVerification(
                transactions.service.leader_of,
                lambda node, asked: peers.call(
                    node, ApiKey.ADD_PARTITIONS_TO_TXN, 5, asked, timeout=TRANSACTION_CALL_SECONDS
                ),
            ),
            producer_ids=producer_ids,
            run_in_thread=threads.run,
            inter_broker_listener=listener,
            authorizer=self._authorizer(metadata),
        )

    def _authorizer(self, metadata: MetadataService) -> Authorizer | None:
        """Follows the metadata from the first entry on, and ahead of every other stage: a permission that is
        revoked must not be used while these work."""
        authorizer = authorizer_of(self.config)
        if authorizer is not None:
            authorizer.follow(metadata.image)
            metadata.on_change(lambda delta: authorizer.follow(delta.after))
        return authorizer

    def _start_chores(self, chores: Housekeeping, cleaner: LogCleaner) -> Tickers:
        tickers = Tickers()
        services, metadata = self.services, self.services.metadata
        reports = self._reports
        repair = LossRepair(
            services.partitions, services.peers, self._clock, services.run_in_thread, reports.send
        )
        revival = LogReopening(self._disk, services.partitions, self._clock, services.run_in_thread)

        def every(setting: str, chore: Chore, name: str) -> None:
            tickers.every(lambda: metadata.config.int(setting) / 1000, chore, name)

        every("log.retention.check.interval.ms", chores.retire_segments, "retention")
        every("durability.interval.ms", chores.sync_by_interval, "interval sync")
        every("log.flush.offset.checkpoint.interval.ms", chores.checkpoint, "checkpoint")
        every(
            "replica.high.watermark.checkpoint.interval.ms",
            chores.checkpoint_high_watermarks,
            "high watermarks",
        )
        every("log.cleaner.backoff.ms", cleaner.clean_once, "compaction")
        tickers.every(lambda: SEALED_SECONDS, chores.checkpoint_sealed, "checkpoint of sealed segments")
        tickers.every(lambda: REPORT_SECONDS, reports.send, "log dir reports")
        tickers.every(lambda: REPAIR_SECONDS, repair.run_once, "repair of damaged logs")
        tickers.every(lambda: LOOK_SECONDS, revival.run_once, "logs without room")
        tickers.every(
            lambda: FAULTS_SECONDS, lambda: self._memory.run_once(services.run_in_thread), "memory in use"
        )
        for name, chore in self._faults.chores().items():
            tickers.every(lambda: FAULTS_SECONDS, chore, name)
        tickers.every(lambda: FLUSH_RULES_SECONDS, chores.sync_by_topic_rules, "flush rules")
        tickers.every(lambda: self._quotas.span_seconds, self._quotas.forget_idle, "idle quotas")
        tickers.every(lambda: PRODUCER_EXPIRY_SECONDS, chores.forget_producers, "producer expiry")
        if (audit := services.audit) is not None:
            tickers.every(lambda: audit.interval_seconds, audit.end_interval, "audit record")
        return tickers


def _absolute(paths: Sequence[str]) -> list[str]:
    return [os.path.abspath(path) for path in paths]


def _endpoints(advertised: tuple[Listener, ...], bound: list[Listener]) -> list[Endpoint]:
    """Returns the addresses for clients: the advertised host, and the real port if port 0 was requested."""
    return [
        Endpoint(listener.name, _reachable_host(listener), listener.port or real.port)
        for listener, real in zip(advertised, bound, strict=True)
    ]


def _reachable_host(listener: Listener) -> str:
    """A wildcard address is none that a client can connect to."""
    return gethostname() if listener.is_every_interface else listener.host
