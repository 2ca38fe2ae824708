"""The parts of a broker that handlers use, made of its ports and wired to each other."""

from tidelog.base.config.config import BrokerConfig
from tidelog.broker.controller.broker_lifecycle import BrokerLifecycle
from tidelog.broker.controller.controller import Controller
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.coordinators.groups import register_groups
from tidelog.broker.coordinators.internal_topics import InternalTopics
from tidelog.broker.coordinators.producer_ids import ProducerIds
from tidelog.broker.coordinators.runtime.runtime import CoordinatorRuntime
from tidelog.broker.coordinators.share_states import ShareStates
from tidelog.broker.coordinators.transaction_verification import TransactionVerification
from tidelog.broker.coordinators.transactions import Transactions
from tidelog.broker.handlers.group_states import group_states_of
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.log_dirs.log_moves import LogMoves
from tidelog.broker.peers.peers import Peers
from tidelog.broker.replication.service import Replication
from tidelog.broker.requests.context import Services
from tidelog.broker.requests.fetch_sessions import FetchSessions
from tidelog.broker.requests.forwarded_once import ForwardedOnce
from tidelog.broker.requests.forwarding import Forwarding
from tidelog.broker.shares.dead_letters.left_letters import LeftLetters
from tidelog.broker.shares.lazy_persister import LazyPersister
from tidelog.groups.counters import GroupCounters
from tidelog.groups.share.messages import StatesToDelete
from tidelog.metadata.security.bootstrap import Bootstrap
from tidelog.node.identity import BrokerIdentity
from tidelog.node.ports import NodePorts
from tidelog.node.security import authorizer_following
from tidelog.node.share_imports import ShareImports
from tidelog.shares.place import SharePlace
from tidelog.wire.apis import ApiKey

TRANSACTION_CALL_SECONDS = 15.0


def services_of(
    config: BrokerConfig,
    ports: NodePorts,
    metadata: MetadataService,
    partitions: HostedPartitions,
    identity: BrokerIdentity,
    *,
    bootstrap: Bootstrap | None,
) -> Services:
    clock, trusted, random, run_in_thread = ports.clock, ports.trusted, ports.random, ports.threads.run
    listener = config.inter_broker_listener()
    peers = Peers(
        ports.network,
        identity.node_id,
        lambda node_id: metadata.address_of(node_id, listener),
        lambda: metadata.controller_id,
        resolve_sends=metadata.quorum_address_of,
    )
    forwarding = Forwarding(metadata, peers, identity.incarnation)
    coordinators = CoordinatorRuntime(
        metadata,
        partitions,
        InternalTopics(metadata, forwarding),
        clock=trusted,
        run_in_thread=run_in_thread,
    )
    lifecycle = BrokerLifecycle(
        metadata,
        peers,
        clock,
        identity.image,
        partitions.failed_log_dirs,
        previous_epoch=identity.previous_epoch,
    )
    partitions.log_dirs.broker_epoch = lambda: lifecycle.epoch
    producer_ids = ProducerIds(lifecycle.next_producer_ids)
    group_counters = GroupCounters()

    def finish_deletion(to_delete: StatesToDelete) -> None:
        group_states_of(services).finish_deletion(to_delete)

    groups = register_groups(coordinators, random, group_counters, finish_deletion)
    transactions = Transactions(
        coordinators,
        clock=trusted,
        take_id=producer_ids.take,
        send_markers=lambda node, markers: peers.call(
            node, ApiKey.WRITE_TXN_MARKERS, 2, markers, timeout=TRANSACTION_CALL_SECONDS
        ),
    )
    share_states = ShareStates(coordinators)
    persister = LazyPersister(share_states, peers)
    ShareImports(metadata, run_in_thread)

    def load_for_dead_letters(place: SharePlace) -> None:
        from tidelog.broker.handlers.shares import served

        served.load_for_dead_letters(services, place)

    services = Services(
        clock=clock,
        random=random,
        metadata=metadata,
        controller=Controller(metadata, trusted, random, config.optional_text("cluster.id"), bootstrap),
        peers=peers,
        forwarding=forwarding,
        forwarded_once=ForwardedOnce(),
        lifecycle=lifecycle,
        replication=Replication(
            metadata, partitions, peers, clock, random, broker_epoch=lambda: lifecycle.epoch
        ),
        partitions=partitions,
        moves=LogMoves(
            ports.disk,
            partitions,
            clock,
            run_in_thread,
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
        share_states=share_states,
        persister=persister,
        left_letters=LeftLetters(metadata, persister, load_for_dead_letters),
        verification=TransactionVerification(
            transactions.service.leader_of,
            lambda node, asked: peers.call(
                node, ApiKey.ADD_PARTITIONS_TO_TXN, 5, asked, timeout=TRANSACTION_CALL_SECONDS
            ),
        ),
        producer_ids=producer_ids,
        run_in_thread=run_in_thread,
        inter_broker_listener=listener,
        authorizer=authorizer_following(config, metadata),
    )
    return services
