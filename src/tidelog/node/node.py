"""The life of a broker: its parts are opened in order, serve, and end in the reverse of that order."""

import asyncio
import gc
import logging
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from tidelog.base.config.config import BrokerConfig
from tidelog.base.disk import PosixDisk
from tidelog.base.ports import Clock, Disk, Random
from tidelog.broker.controller.bootstrap_file import read_bootstrap, retire_bootstrap
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
from tidelog.broker.controller.metadata_applier import MetadataApplier
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.controller.metadata_stages import listen, metadata_stages
from tidelog.broker.controller.quorum import Quorum
from tidelog.broker.faults import Faults
from tidelog.broker.health import failure_of
from tidelog.broker.log_dirs.cleaner import LogCleaner
from tidelog.broker.log_dirs.flusher import Flusher
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.log_dirs.housekeeping import Housekeeping
from tidelog.broker.log_dirs.log_dir_reports import LogDirReports
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.requests.context import Services
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.internal_requests import InternalRequests
from tidelog.broker.security.quota_switch import QuotaSwitch
from tidelog.broker.trusted_clock import TrustedClock
from tidelog.metadata.brokers.cores import cores_of_machine, started_cores
from tidelog.metadata.image.records import Endpoint
from tidelog.metadata.store.store import DIRECTORY, QuorumStore
from tidelog.node.chores import start_chores
from tidelog.node.endpoints import endpoints_of, reachable_host
from tidelog.node.identity import BrokerIdentity
from tidelog.node.ports import NodePorts
from tidelog.node.requests import request_metrics, routes_of
from tidelog.node.security import gates_of
from tidelog.node.services import services_of
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

if TYPE_CHECKING:  # a broker without metrics does not import it
    from tidelog.broker.metrics.request_metrics import RequestMetrics
    from tidelog.server.metrics.setup import MetricsPort
    from tidelog.server.registry.setup import RegistryPort

log = logging.getLogger("tidelog.node")


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
        self._registry: RegistryPort | None = None
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
        return address_of(reachable_host(where), where.port)

    @property
    def metrics_port(self) -> int | None:
        return None if self._metrics is None else self._metrics.address.port

    @property
    def schema_registry_url(self) -> str | None:
        """Where clients of the schema registry find it at this broker; None where it is off."""
        if self._registry is None:
            return None
        where = self._registry.address
        scheme = "https" if self._registry.has_tls else "http"
        return f"{scheme}://{address_of(reachable_host(where), where.port)}"

    @property
    def schema_registry_port(self) -> int | None:
        return None if self._registry is None else self._registry.address.port

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
        self._prepare_process()
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
        self._trusted = self._trusted_clock(metadata)
        self._identity = BrokerIdentity(metadata, config, log_dirs, self._random)
        ports = NodePorts(self._disk, clock, self._trusted, self._random, network, threads)
        services = self.services = services_of(
            config, ports, metadata, partitions, self._identity, bootstrap=bootstrap
        )
        self._reports = LogDirReports(
            metadata, log_dirs, services.peers, lambda: services.lifecycle.epoch, partitions.damaged
        )
        services.lifecycle.report_log_dirs = self._reports.send
        if any(protocol.is_sasl for protocol in config.security_protocols().values()):
            services.put_gate = gates_of(opened, services, config, threads, own_threads=self._threads is None)
        measured = request_metrics(opened, services, config)
        routes = routes_of(opened, services, config, None if measured is None else measured.counting)
        dispatcher = Dispatcher(services, routes)
        internal = InternalRequests(services, routes)
        services.peers.call_here = internal.call
        services.answer_forwarded = internal.answer_forwarded
        applier.on_role_change = services.controller.on_role_change
        server = self._listen(opened, network, dispatcher, threads, measured)
        self._endpoints = self._identity.endpoints = endpoints_of(
            config.advertised_listeners(), server.addresses
        )
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

    def _prepare_process(self) -> None:
        for warning in self.config.warnings:
            log.warning("%s", warning)
        raise_open_file_limit()
        give_back_large_blocks()

    def _trusted_clock(self, metadata: MetadataService) -> TrustedClock:
        clock = self._clock
        elapsed = elapsed_seconds if isinstance(clock, SystemClock) else clock.monotonic
        return TrustedClock(clock, elapsed, lambda: metadata.config.int("clock.jump.hold.ms"))

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
            self._memory.fitting(self.config, cores=started_cores(self.config)),
            first=self.services.inter_broker_listener,
        )
        opened.push_async_callback(server.drain, 0.0)
        self._on_abort.insert(0, server.close)
        if self.config.int("schema.registry.port"):
            self._open_registry(opened, threads)
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

    def _open_registry(self, opened: AsyncExitStack, threads: Threads) -> None:
        """Takes the port now: one that is taken fails the start. Serves it when all else serves."""
        from tidelog.node.registry import open_registry, put_registry

        is_real = self._threads is None  # a simulator makes its calls without HTTP
        put_registry(opened, self.services, threads, own_threads=is_real)
        if is_real:
            self._registry = open_registry(opened, self.config, self.services)
            opened.callback(self._registry.abort)  # where the start fails
            self._on_abort.insert(0, self._registry.abort)

    def _open_log_dirs(self) -> LogDirs:
        paths = [os.path.abspath(path) for path in self.config.list("log.dirs")]
        self._disk = disk_with_keys(self._disk_below, paths, self.config)
        log_dirs = LogDirs.open(
            self._disk,
            paths,
            cluster_id=self.config.optional_text("cluster.id"),
            node_id=self.node_id,
            random=self._random,
            journal_bytes=self.config.int("log.journal.bytes"),
            journal_logs_min=self.config.int("log.journal.min.partitions"),
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
        quotas = QuotaSwitch(services, self._clock, self.config)

        def change_limits() -> None:
            cores = cores_of_machine(self.config, metadata.image.brokers, self.node_id)
            quotas.follow(metadata.image.security.quotas, cores)
            server.change_limits(self._memory.fitting(metadata.config, quotas.address_rates, cores=cores))
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
        faults = Faults(services, flusher, self._clock, self._trusted, self.quorum)
        services.collectors.add("faults", faults.collect)
        services.collectors.add("memory", self._memory.collect)
        await faults.look()
        await self._join()
        dispatcher.open()
        server.open()
        cleaner = LogCleaner(partitions, self._trusted, lambda: metadata.config, threads, partitions.counters)
        opened.push_async_callback(cleaner.close)
        chores = Housekeeping(partitions, flusher, self._trusted, threads)
        opened.callback(chores.close)
        self._memory.begin(lambda is_short: self._relieve(server, is_short))
        tickers = start_chores(
            services,
            self._disk,
            chores,
            cleaner,
            self._reports,
            faults=faults,
            memory=self._memory,
            quotas=quotas,
        )
        opened.push_async_callback(tickers.stop)
        if services.audit is not None:
            opened.push_async_callback(services.audit.close)
        opened.push_async_callback(self._leave)
        if self._registry is not None:
            self._registry.begin()
            opened.push_async_callback(self._registry.close)
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
                self._identity.image(),
                log_dirs.cluster_id,
                fenced=False,
                previous_epoch=self._identity.previous_epoch(),
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
        if self.services.registry is not None:
            self.services.registry.close()
        if self.services.left_letters is not None:
            self.services.left_letters.close()
        if self.services.shares is not None:
            self.services.shares.close()
        if self.services.group_states is not None:
            await self.services.group_states.close()
        await self.services.coordinators.close()
        await self.services.transactions.close()
        await self.services.verification.close()
        if self.services.persister is not None:
            await self.services.persister.close()
        await server.drain(self.config.int("shutdown.grace.ms") / 1000)
