"""What a handler is given: the broker's services, and who asks."""

from dataclasses import dataclass

from tidelog.base.config import BrokerConfig
from tidelog.base.ports import Clock, Random
from tidelog.broker.fetch_sessions import FetchSessions
from tidelog.broker.groups import Groups
from tidelog.broker.hosted import HostedPartitions
from tidelog.broker.log_moves import LogMoves
from tidelog.broker.metadata_service import MetadataService
from tidelog.broker.peer import Peer
from tidelog.broker.producer_ids import ProducerIds
from tidelog.broker.throttle import Throttle


@dataclass(slots=True)
class Services:
    """The parts of a broker that handlers use; wired once, in `node.py`."""

    clock: Clock
    random: Random
    metadata: MetadataService
    partitions: HostedPartitions
    moves: LogMoves
    groups: Groups
    sessions: FetchSessions
    producer_ids: ProducerIds
    throttle: Throttle

    @property
    def config(self) -> BrokerConfig:
        """As of now: settings that may change at run time are read from here each time."""
        return self.metadata.config


class Context:
    """One request: its services, its peer, its version."""

    __slots__ = ("client_id", "peer", "services", "throttle_ms", "version")

    def __init__(self, services: Services, peer: Peer, version: int, client_id: str | None) -> None:
        self.services = services
        self.peer = peer
        self.version = version
        self.client_id = client_id
        self.throttle_ms = 0
