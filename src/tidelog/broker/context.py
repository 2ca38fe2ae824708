"""What a handler is given: the broker's services, and who asks."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tidelog.base.config import BrokerConfig
from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Clock, Random
from tidelog.broker.controller import Controller
from tidelog.broker.fetch_sessions import FetchSessions
from tidelog.broker.flusher import RunInThread
from tidelog.broker.forwarding import Forwarding
from tidelog.broker.groups import Groups
from tidelog.broker.hosted import HostedPartitions
from tidelog.broker.lifecycle import Lifecycle
from tidelog.broker.log_moves import LogMoves
from tidelog.broker.metadata_service import MetadataService
from tidelog.broker.peer import Peer
from tidelog.broker.peers import Peers
from tidelog.broker.producer_ids import ProducerIds
from tidelog.broker.replication import Replication
from tidelog.broker.throttle import Throttle
from tidelog.broker.transaction_verification import TransactionVerification
from tidelog.broker.transactions import Transactions


async def _nobody(_frame: memoryview, _peer: Peer, _token: bytes) -> bytes:
    raise ProtocolError("nothing is dispatched yet")


@dataclass(slots=True)
class Services:
    """The parts of a broker that handlers use; wired once, in `node.py`."""

    clock: Clock
    random: Random
    metadata: MetadataService
    controller: Controller
    peers: Peers
    forwarding: Forwarding
    lifecycle: Lifecycle
    replication: Replication
    partitions: HostedPartitions
    moves: LogMoves
    groups: Groups
    transactions: Transactions
    verification: TransactionVerification
    sessions: FetchSessions
    producer_ids: ProducerIds
    throttle: Throttle
    run_in_thread: RunInThread
    inter_broker_listener: str
    """What brokers say to each other is taken on this one alone."""
    answer_forwarded: Callable[[memoryview, Peer, bytes], Awaitable[bytes | None]] = _nobody

    @property
    def config(self) -> BrokerConfig:
        """As of now: settings that may change at run time are read from here each time."""
        return self.metadata.config


class Context:
    """One request: its services, its peer, its version."""

    __slots__ = ("client_id", "peer", "services", "throttle_ms", "token", "version")

    def __init__(self, services: Services, peer: Peer, version: int, client_id: str | None) -> None:
        self.services = services
        self.peer = peer
        self.version = version
        self.client_id = client_id
        self.throttle_ms = 0
        self.token = b""
        """Of a request to the controller: the same for each try, so that a second one is known as such."""
