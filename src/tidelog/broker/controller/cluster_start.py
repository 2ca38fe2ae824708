"""How a broker finds its place in the quorum when it starts: the Raft node it is, and what it waits for."""

import asyncio
import logging
from collections.abc import Sequence

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import StorageError
from tidelog.base.ids import ZERO_UUID, NodeId, Uuid, uuid_text
from tidelog.base.ports import Clock, Random
from tidelog.base.voters import parse_voters
from tidelog.broker.controller.metadata_applier import MetadataApplier
from tidelog.broker.controller.quorum import Quorum
from tidelog.broker.controller.voter_refusals import log_refusals
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.requests.context import Services
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Endpoint
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.core import Raft
from tidelog.raft.entries import Configuration, Voter
from tidelog.raft.messages import AnyMessage, encode
from tidelog.raft.ready import Restored
from tidelog.raft.settings import RaftSettings
from tidelog.storage.log_dir.files import META
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.raft import RaftMessage, RaftRequest

POLL_SECONDS = 0.005
REQUEST_SECONDS = 5.0

log = logging.getLogger("tidelog.broker.quorum")


def address_of(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def check_cluster(config: BrokerConfig, cluster_id: str) -> None:
    """Checks that the cluster of the voters is the configured one."""
    wanted = config.optional_text("cluster.id")
    if wanted and wanted != cluster_id:
        raise StorageError(
            f"this broker's voters belong to cluster {cluster_id}, and cluster.id is {wanted}; give it the "
            "right voters, or the right id"
        )


def check_company(config: BrokerConfig, raft: Raft, image: ClusterImage) -> None:
    """Refuses a broker whose data belongs to a cluster of its own, and whose settings name another one."""
    node_id = config.int("node.id")
    named = [voter.id for voter in parse_voters(config.list("controller.quorum.voters"))]
    voters = [voter.id for voter in raft.configuration.voters]
    if voters == [node_id] and set(named) - {node_id} and not image.brokers.keys() - {node_id}:
        raise StorageError(
            f"its data belong to another cluster than controller.quorum.voters names: to {image.cluster_id}, "
            f"in which broker {node_id} is alone. Give it an empty log dir to join the others; or leave "
            "controller.quorum.voters out, and let this cluster grow with tidelog cluster add-voter"
        )


def check_votes(config: BrokerConfig, log_dirs: LogDirs, store: QuorumStore) -> None:
    """Refuses a voter that lost its votes: it could vote twice, and undo committed changes."""
    if log_dirs.cluster_id and store.is_new and config.list("controller.quorum.voters"):
        raise StorageError(
            f"{log_dirs.first.path} belongs to cluster {log_dirs.cluster_id}, but the metadata log in it is "
            "gone, and with it this broker's votes. Move the whole log dir away: the broker then comes back "
            "empty, and copies everything from the others"
        )


def check_disk(config: BrokerConfig, log_dirs: LogDirs, raft: Raft) -> None:
    """A vote belongs to a disk: the only voter, on a new disk, would wait forever to get its vote back."""
    voters, mine = raft.configuration.voters, log_dirs.first.id
    if len(voters) == 1 and voters[0].id == config.int("node.id") and voters[0].storage not in {None, mine}:
        expected = uuid_text(voters[0].storage or ZERO_UUID)
        raise StorageError(
            f"{log_dirs.first.path}/{META} names the directory {uuid_text(mine)}, but the metadata log in "
            f"this log dir was written under {expected}: the file was damaged or replaced. Set "
            f"directory.id={expected} in it again, and remove the line with the checksum if it has one"
        )


def inter_broker_endpoint(config: BrokerConfig, endpoints: Sequence[Endpoint]) -> Endpoint:
    name = config.inter_broker_listener()
    return next((endpoint for endpoint in endpoints if endpoint.listener == name), endpoints[0])


def raft_of(
    config: BrokerConfig,
    store: QuorumStore,
    *,
    storage_id: Uuid,
    me: Endpoint,
    clock: Clock,
    random: Random,
) -> Raft:
    """What this node remembers, or on its first start what the settings say of its quorum."""
    node_id = config.int("node.id")
    mine = address_of(me.host, me.port)
    named = tuple(
        Voter(voter.id, voter.address) for voter in parse_voters(config.list("controller.quorum.voters"))
    )
    snapshot = store.snapshot
    return Raft(
        node_id=node_id,
        storage_id=storage_id,
        address=mine,
        restored=Restored(
            configuration=snapshot.configuration or Configuration(named or (Voter(node_id, mine),)),
            term=store.hard_state.term,
            voted_for=store.hard_state.voted_for,
            snapshot_index=snapshot.index,
            snapshot_term=snapshot.term,
            entries=store.entries,
        ),
        settings=RaftSettings(
            heartbeat_interval=config.int("controller.quorum.heartbeat.interval.ms") / 1000,
            election_timeout=config.int("controller.quorum.election.timeout.ms") / 1000,
        ),
        random=random,
        now=clock.monotonic(),
        snapshot_source=store.read_snapshot,
        seeds=named,
    )


def join_quorum(
    raft: Raft,
    store: QuorumStore,
    services: Services,
    applier: MetadataApplier,
    run_in_thread: RunInThread,
) -> Quorum:
    metadata = services.metadata

    def send(to: NodeId, messages: list[AnyMessage]) -> None:
        request = RaftRequest(
            cluster_id=metadata.image.cluster_id,
            messages=[RaftMessage(data=encode(message)) for message in messages],
        )
        services.peers.send(to, ApiKey.RAFT, 0, request)

    quorum = Quorum(
        raft, store, clock=services.clock, run_in_thread=run_in_thread, send=send, committed=applier
    )
    metadata.join(quorum)
    applier.start(quorum)
    quorum.start()
    return quorum


async def until_following(services: Services, quorum: Quorum) -> None:
    """Wait until this broker knows the cluster as its controller does, and all that it ever acted on.

    A leader may be known long before it has told what is committed. With an image older than the logs on
    its disk, this broker would take new partitions for strays, and begin them anew without their records.
    """
    metadata, clock, raft = services.metadata, services.clock, quorum.raft
    remembered = raft.last_index
    logged_at = clock.monotonic()
    asking: asyncio.Task[None] | None = None
    try:
        while True:
            if (failure := quorum.failure or metadata.failure) is not None:
                raise failure
            is_led = metadata.is_controller or (raft.leader_id is not None and not raft.is_leader)
            # Entries that the leader's log lacks are truncated by now: they were never committed.
            known = max(raft.commit_index, min(remembered, raft.last_index))
            if is_led and metadata.image.cluster_id and metadata.version >= known:
                return
            if clock.monotonic() - logged_at >= REQUEST_SECONDS:
                logged_at = clock.monotonic()
                _log_wait(metadata.node_id, raft)
                if services.authorizer is not None:
                    asking = asyncio.create_task(log_refusals(services.peers, raft.configuration.voters))
            await asyncio.sleep(POLL_SECONDS)
    finally:
        if asking is not None:
            asking.cancel()


def _log_wait(node_id: NodeId, raft: Raft) -> None:
    voters = raft.configuration.voters
    others = ", ".join(f"{voter.id}@{voter.address}" for voter in voters if voter.id != node_id)
    # A voter could have lost its disk, unless the quorum has pinned the disk of each.
    how_many = "a majority of all voters" if raft.configuration.is_pinned else "all of them, at first"
    log.warning("waiting for the other voters, %s (it takes %s)", others, how_many)
