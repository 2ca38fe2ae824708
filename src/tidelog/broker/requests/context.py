"""What a handler gets beside the request: the broker's services, and the connection of the client."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Clock, Random
from tidelog.broker.controller.broker_lifecycle import BrokerLifecycle
from tidelog.broker.controller.controller import Controller
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.coordinators.producer_ids import ProducerIds
from tidelog.broker.coordinators.runtime.runtime import CoordinatorRuntime
from tidelog.broker.coordinators.runtime.service import CoordinatorService
from tidelog.broker.coordinators.share_states import ShareStates
from tidelog.broker.coordinators.transaction_verification import TransactionVerification
from tidelog.broker.coordinators.transactions import Transactions
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.log_dirs.log_moves import LogMoves
from tidelog.broker.peers.peers import Peers
from tidelog.broker.replication.service import Replication
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.fetch_sessions import FetchSessions
from tidelog.broker.requests.forwarded_once import ForwardedOnce
from tidelog.broker.requests.forwarding import Forwarding
from tidelog.broker.requests.tries import Tries
from tidelog.broker.security.authorizer import Authorizer
from tidelog.broker.security.client_quotas import ClientQuotas
from tidelog.broker.security.mutation_quotas import MutationCharge, MutationQuotas
from tidelog.broker.security.refused_brokers import RefusedBrokers
from tidelog.broker.security.request_charge import RequestCharge
from tidelog.broker.security.throttle_counts import ThrottleCounts
from tidelog.groups.counters import GroupCounters
from tidelog.groups.shard import GroupShard
from tidelog.metadata.topics.names import INTERNAL_TOPICS
from tidelog.metrics.collectors import Collectors
from tidelog.security.acls.acl import WILDCARD
from tidelog.security.acls.vocabulary import CLUSTER_NAME, OPERATIONS_ON, Operation, ResourceType
from tidelog.security.audit.event import Actor

if TYPE_CHECKING:
    from tidelog.broker.client_metrics import ClientMetrics
    from tidelog.broker.registry.lazy import LazyRegistry
    from tidelog.broker.security.audit.audit import Audit
    from tidelog.broker.shares.dead_letters.left_letters import LeftLetters
    from tidelog.broker.shares.group_states import GroupStates
    from tidelog.broker.shares.lazy_deletion import LazyDeletion
    from tidelog.broker.shares.ports import Persister
    from tidelog.broker.shares.share_partitions import SharePartitions

NO_VERSION = 1 << 15
ALL_OPERATIONS = {kind: sum(1 << one for one in allowed) for kind, allowed in OPERATIONS_ON.items()}


async def _not_wired(_frame: memoryview, _connection: ClientConnection, _tries: Tries | None) -> bytes:
    raise ProtocolError("nothing is dispatched yet")


@dataclass(slots=True)
class Services:
    """The parts of a broker that handlers use; wired once, in `node/services.py`."""

    clock: Clock
    random: Random
    metadata: MetadataService
    controller: Controller
    peers: Peers
    forwarding: Forwarding
    forwarded_once: ForwardedOnce
    lifecycle: BrokerLifecycle
    replication: Replication
    partitions: HostedPartitions
    moves: LogMoves
    coordinators: CoordinatorRuntime
    groups: CoordinatorService[GroupShard]
    transactions: Transactions
    share_states: ShareStates
    verification: TransactionVerification
    sessions: FetchSessions
    producer_ids: ProducerIds
    run_in_thread: RunInThread
    inter_broker_listener: str
    """The only listener that takes requests between brokers."""
    is_stopping: bool = False
    authorizer: Authorizer | None = None
    """None: every client may do everything."""
    refused_brokers: RefusedBrokers = field(default_factory=RefusedBrokers)
    audit: "Audit | None" = None
    collectors: Collectors = field(default_factory=Collectors)
    """Every part adds its own; only a scrape asks them."""
    client_metrics: "ClientMetrics | None" = None
    """None while metrics are off: then clients are not offered to push theirs."""
    authentication_failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By listener and mechanism; SSL stands for certificates."""
    count_error: Callable[[int, int], None] | None = None
    """Takes the API and the error code of responses that no route encodes; None without metrics."""
    put_gate: Callable[[ClientConnection], None] | None = None
    """Puts a gate on a new connection whose listener has SASL; None where no listener has."""
    throttle: ClientQuotas | None = None
    """None while no client has a quota: then requests are not charged."""
    mutations: MutationQuotas | None = None
    """None while no client has a quota."""
    throttled: ThrottleCounts = field(default_factory=ThrottleCounts)
    denials: dict[tuple[Operation, ResourceType], int] = field(default_factory=dict)
    """How often each permission was missing."""
    group_counters: GroupCounters = field(default_factory=GroupCounters)
    persister: "Persister | None" = None
    """Reaches the coordinators of the state of share groups."""
    group_states: "GroupStates | None" = None
    """None until a share group needs the persister."""
    left_letters: "LeftLetters | None" = None
    shares: "SharePartitions | None" = None
    """None until a member of a share group fetches from this broker."""
    deletion: "LazyDeletion | None" = None
    """Deletes what share groups have finished; None until the broker has started."""
    registry: "LazyRegistry | None" = None
    """None where the schema registry is off."""
    written_by_brokers: frozenset[str] = INTERNAL_TOPICS
    """Topics that clients may read but not write: brokers keep their own state there."""
    answer_forwarded: Callable[[memoryview, ClientConnection, Tries | None], Awaitable[bytes | None]] = (
        _not_wired
    )

    @property
    def config(self) -> BrokerConfig:
        """The current config: settings that may change at run time are read from here each time."""
        return self.metadata.config


class Context:
    """One request: its services, its connection, its version."""

    __slots__ = (
        "api",
        "charge",
        "client_id",
        "closes",
        "connection",
        "services",
        "throttle_ms",
        "tries",
        "version",
    )

    def __init__(
        self,
        services: Services,
        connection: ClientConnection,
        version: int,
        client_id: str | None,
        api: str = "",
    ) -> None:
        self.api = api  # its name, such as CreateTopics
        self.services = services
        self.connection = connection
        self.version = version
        self.client_id = client_id
        self.throttle_ms = 0
        """How long the client must pause after the response; `charge` may ask for more."""
        self.charge: RequestCharge | None = None
        """None where the client has no quota."""
        self.closes = False
        """The connection is closed once the response is sent."""
        self.tries: Tries | None = None
        """Of a request to the controller that may be made again, also to the next one."""

    def allows(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Whether the client's principal may do this with the resource. False means that it is refused."""
        is_allowed = self._is_allowed(operation, resource_type, name)
        if not is_allowed:
            self._note_denial(operation, resource_type, name)
        return is_allowed

    def _note_denial(self, operation: Operation, resource_type: ResourceType, name: str) -> None:
        services, missing = self.services, (operation, resource_type)
        services.denials[missing] = services.denials.get(missing, 0) + 1
        if services.audit is not None:
            services.audit.denied(self.actor, self.api, operation, resource_type, name)

    @property
    def actor(self) -> Actor:
        """The client, as the audit record names it."""
        connection = self.connection
        return Actor(connection.principal, connection.host, connection.listener, self.client_id)

    def may(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """As `allows`, where False refuses nothing: another permission may do as well."""
        return self._is_allowed(operation, resource_type, name)

    def may_see(self, resource_type: ResourceType, name: str) -> bool:
        """Whether an answer may name the resource. Unlike a refusal, a name that is left out is no event."""
        return self._is_allowed(Operation.DESCRIBE, resource_type, name)

    @property
    def sees_topics(self) -> Callable[[str], bool] | None:
        """`may_see` for topics; None where the client may see all of them."""
        return None if self.services.authorizer is None else partial(self.may_see, ResourceType.TOPIC)

    def allows_on_cluster(self, operation: Operation) -> bool:
        return self.allows(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def allows_on_any(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Whether the principal may do this with at least one resource of the type, existing or not."""
        authorizer = self.services.authorizer
        if authorizer is None:
            return True
        connection = self.connection
        who = connection.principal, connection.host
        is_allowed = authorizer.allows_on_any(*who, operation, resource_type)
        if not is_allowed:
            self._note_denial(operation, resource_type, WILDCARD)
        return is_allowed

    def operations_on(self, resource_type: ResourceType, name: str) -> int:
        """The operations that the client may do with the resource, as a bit field in Describe answers."""
        authorizer = self.services.authorizer
        if authorizer is None:
            return ALL_OPERATIONS[resource_type]
        connection = self.connection
        return authorizer.allowed_operations(connection.principal, connection.host, resource_type, name)

    def operations_on_cluster(self) -> int:
        """As `operations_on`; none for a client that may not describe the cluster."""
        if not self.may_see(ResourceType.CLUSTER, CLUSTER_NAME):
            return 0
        return self.operations_on(ResourceType.CLUSTER, CLUSTER_NAME)

    def comes_from_broker(self) -> bool:
        """Whether the sender may do what only brokers do, such as fetch as a replica."""
        if self.connection.listener == self.services.inter_broker_listener:
            return self.services.authorizer is None or self.allows_on_cluster(Operation.CLUSTER_ACTION)
        self._note_denial(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
        return False

    def may_come_from_broker(self) -> bool:
        """As `comes_from_broker`, where False refuses nothing: a client may send the same."""
        is_between_brokers = self.connection.listener == self.services.inter_broker_listener
        return is_between_brokers and self.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)

    def charge_mutations(self, *, strict_since: int) -> MutationCharge | None:
        """Returns what counts the partitions that the request creates or deletes; None without a quota.

        Clients of older versions than `strict_since` cannot be refused, and pause instead (KIP-599).
        """
        mutations, connection = self.services.mutations, self.connection
        if mutations is None or not connection.listener:  # a request of a broker itself
            return None
        return mutations.charge_of(
            connection.principal, self.client_id, is_strict=self.version >= strict_since
        )

    def charge_created(self, partitions: int) -> None:
        """Counts partitions that a request has created by the way: the client is not refused, but pauses."""
        quota = self.charge_mutations(strict_since=NO_VERSION) if partitions else None
        if quota is not None:
            quota.take(partitions)
            self.throttle_ms = quota.throttle_ms

    def _is_allowed(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        authorizer = self.services.authorizer
        if authorizer is None:
            return True
        connection = self.connection
        return authorizer.allows(connection.principal, connection.host, operation, resource_type, name)
