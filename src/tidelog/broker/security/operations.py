"""What each API asks the authorizer: the source of the table in docs/authorization.md, as Kafka asks it.

Handlers ask by themselves, with `Context.allows` and `Context.may_see`; this table does not do it for them.
`tests/unit/broker/security/test_operations.py` sends a request of each API, writes down what its handler
asks, and compares it with this table, together with the error that the client gets.
"""

from enum import Enum
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.apis import ApiKey


class Effect(Enum):
    """What follows if the principal lacks the permission."""

    REFUSES = "refused"
    HIDES = "left out"
    """The answer does not name the resource, without an error."""
    FALLS_BACK = "the next permission decides"
    NOTES = "said in the status of the answer"


class Question(NamedTuple):
    operation: Operation
    resource_type: ResourceType
    effect: Effect = Effect.REFUSES
    when: str = ""
    """For the reader: the part of a request that is asked about; empty for all of it."""
    error: ErrorCode | None = None
    """Where it is not that of the resource type."""

    @property
    def refused_with(self) -> ErrorCode:
        return self.error or REFUSED_WITH[self.resource_type]


REFUSED_WITH: dict[ResourceType, ErrorCode] = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
"""The error of a request, or of a part of it, that lacks a permission on a resource of the type."""

_READ, _WRITE, _CREATE, _DELETE = Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE
_ALTER, _DESCRIBE, _BROKER = Operation.ALTER, Operation.DESCRIBE, Operation.CLUSTER_ACTION
_DESCRIBE_CONFIGS, _ALTER_CONFIGS = Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS
_TOPIC, _GROUP, _CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
_TXN, _TOKEN, _USER = ResourceType.TRANSACTIONAL_ID, ResourceType.DELEGATION_TOKEN, ResourceType.USER
_HIDES, _FALLS_BACK, _REFUSES = Effect.HIDES, Effect.FALLS_BACK, Effect.REFUSES

_OPERATIONS = "if the request asks for authorized operations; they are 0 without it"
_ALTERS_CONFIGS = (
    Question(_ALTER_CONFIGS, _TOPIC, when="settings of a topic"),
    Question(_ALTER_CONFIGS, _GROUP, when="settings of a group"),
    Question(_ALTER_CONFIGS, _CLUSTER, when="settings of brokers and of client metrics subscriptions"),
)
_ON_GROUP = (Question(_READ, _GROUP),)
_BETWEEN_BROKERS = (Question(_BROKER, _CLUSTER),)

OPERATIONS: dict[ApiKey, tuple[Question, ...]] = {
    # Records
    ApiKey.PRODUCE: (
        Question(_WRITE, _TXN, when="records of a transaction"),
        Question(_WRITE, _TOPIC),
    ),
    ApiKey.FETCH: (
        Question(_READ, _TOPIC),
        Question(_BROKER, _CLUSTER, when="fetches of followers"),
    ),
    ApiKey.SHARE_FETCH: (Question(_READ, _GROUP), Question(_READ, _TOPIC)),
    ApiKey.SHARE_ACKNOWLEDGE: (Question(_READ, _GROUP), Question(_READ, _TOPIC)),
    ApiKey.LIST_OFFSETS: (
        Question(_BROKER, _CLUSTER, when="requests with the id of a replica"),
        Question(_DESCRIBE, _TOPIC),
    ),
    ApiKey.DELETE_RECORDS: (Question(_DELETE, _TOPIC),),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        Question(_BROKER, _CLUSTER, _FALLS_BACK),
        Question(_DESCRIBE, _TOPIC),
    ),
    ApiKey.DESCRIBE_PRODUCERS: (Question(_READ, _TOPIC),),
    # Topics
    ApiKey.METADATA: (
        Question(_DESCRIBE, _TOPIC, when="topics that the request names"),
        Question(_DESCRIBE, _TOPIC, _HIDES, when="all topics"),
        Question(_CREATE, _CLUSTER, _FALLS_BACK, when="topics that are created automatically"),
        Question(_CREATE, _TOPIC, when="topics that are created automatically"),
        Question(_DESCRIBE, _CLUSTER, _HIDES, when=_OPERATIONS),
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (
        Question(_DESCRIBE, _TOPIC, when="topics that the request names"),
        Question(_DESCRIBE, _TOPIC, _HIDES, when="all topics"),
    ),
    ApiKey.CREATE_TOPICS: (
        Question(_CREATE, _CLUSTER, _FALLS_BACK),
        Question(_CREATE, _TOPIC),
        Question(_DESCRIBE_CONFIGS, _TOPIC, _HIDES, when="the settings in the response"),
    ),
    ApiKey.DELETE_TOPICS: (
        Question(_DELETE, _CLUSTER, _FALLS_BACK),
        Question(_DELETE, _TOPIC),
        Question(_DESCRIBE, _TOPIC, when="topics that the request names"),
        Question(_DESCRIBE, _TOPIC, _HIDES, when="the name of a topic that is given by its id"),
    ),
    ApiKey.CREATE_PARTITIONS: (Question(_ALTER, _TOPIC),),
    ApiKey.ELECT_LEADERS: (Question(_ALTER, _CLUSTER),),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (Question(_ALTER, _CLUSTER),),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (Question(_DESCRIBE, _CLUSTER),),
    # Settings
    ApiKey.DESCRIBE_CONFIGS: (
        Question(_DESCRIBE_CONFIGS, _TOPIC, when="settings of a topic"),
        Question(_DESCRIBE_CONFIGS, _GROUP, when="settings of a group"),
        Question(_DESCRIBE_CONFIGS, _CLUSTER, when="settings of brokers and of client metrics subscriptions"),
    ),
    ApiKey.ALTER_CONFIGS: _ALTERS_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _ALTERS_CONFIGS,
    ApiKey.LIST_CONFIG_RESOURCES: (Question(_DESCRIBE_CONFIGS, _CLUSTER),),
    # Clients' own metrics
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: (),
    ApiKey.PUSH_TELEMETRY: (),
    # The cluster
    ApiKey.API_VERSIONS: (),
    ApiKey.DESCRIBE_CLUSTER: (Question(_DESCRIBE, _CLUSTER, _HIDES, when=_OPERATIONS),),
    ApiKey.DESCRIBE_LOG_DIRS: (Question(_DESCRIBE, _CLUSTER),),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (Question(_ALTER, _CLUSTER),),
    ApiKey.DESCRIBE_QUORUM: (Question(_DESCRIBE, _CLUSTER),),
    ApiKey.CAN_STOP_BROKER: (Question(_DESCRIBE, _CLUSTER),),
    ApiKey.DESCRIBE_BROKER_STATE: (Question(_DESCRIBE, _CLUSTER),),
    ApiKey.ADD_RAFT_VOTER: (Question(_ALTER, _CLUSTER),),
    ApiKey.REMOVE_RAFT_VOTER: (Question(_ALTER, _CLUSTER),),
    ApiKey.UNREGISTER_BROKER: (Question(_ALTER, _CLUSTER),),
    ApiKey.UPDATE_FEATURES: (Question(_ALTER, _CLUSTER),),
    # Groups
    ApiKey.FIND_COORDINATOR: (
        Question(_DESCRIBE, _GROUP, when="coordinators of groups"),
        Question(_DESCRIBE, _TXN, when="coordinators of transactions"),
        Question(_BROKER, _CLUSTER, when="coordinators of the state of share groups"),
    ),
    ApiKey.JOIN_GROUP: _ON_GROUP,
    ApiKey.SYNC_GROUP: _ON_GROUP,
    ApiKey.HEARTBEAT: _ON_GROUP,
    ApiKey.LEAVE_GROUP: _ON_GROUP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (
        Question(_READ, _GROUP),
        Question(_DESCRIBE, _TOPIC, when="topics of the subscription"),
    ),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (
        Question(_READ, _GROUP),
        Question(_DESCRIBE, _TOPIC, when="topics of the topology"),
        Question(_CREATE, _CLUSTER, _FALLS_BACK, when="internal topics of the topology"),
        Question(_CREATE, _TOPIC, Effect.NOTES, when="internal topics of the topology"),
    ),
    ApiKey.OFFSET_COMMIT: (Question(_READ, _GROUP), Question(_READ, _TOPIC)),
    ApiKey.OFFSET_FETCH: (
        Question(_DESCRIBE, _GROUP),
        Question(_DESCRIBE, _TOPIC, when="topics that the request names"),
        Question(_DESCRIBE, _TOPIC, _HIDES, when="all topics"),
    ),
    ApiKey.OFFSET_DELETE: (Question(_DELETE, _GROUP), Question(_READ, _TOPIC)),
    ApiKey.DELETE_GROUPS: (Question(_DELETE, _GROUP),),
    ApiKey.DESCRIBE_GROUPS: (Question(_DESCRIBE, _GROUP),),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (
        Question(_DESCRIBE, _GROUP),
        Question(_DESCRIBE, _TOPIC, when="topics of the members"),
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: (
        Question(_DESCRIBE, _GROUP),
        Question(_DESCRIBE, _TOPIC, when="topics of the topology"),
    ),
    ApiKey.DESCRIBE_SHARE_PARTITIONS: (
        Question(_DESCRIBE, _GROUP, when="a group that the request names"),
        Question(_DESCRIBE, _GROUP, _HIDES, when="all groups"),
        Question(_DESCRIBE, _TOPIC, when="topics that the request names"),
        Question(_DESCRIBE, _TOPIC, _HIDES, when="all topics"),
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: (
        Question(_READ, _GROUP),
        Question(_DESCRIBE, _TOPIC, when="topics of the subscription"),
    ),
    ApiKey.SHARE_GROUP_DESCRIBE: (
        Question(_DESCRIBE, _GROUP),
        Question(_DESCRIBE, _TOPIC, when="topics of the members"),
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
        Question(_DESCRIBE, _GROUP),
        Question(_DESCRIBE, _TOPIC, when="topics that the request names"),
        Question(_DESCRIBE, _TOPIC, _HIDES, when="all topics"),
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (Question(_READ, _GROUP), Question(_READ, _TOPIC)),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (Question(_DELETE, _GROUP), Question(_READ, _TOPIC)),
    ApiKey.LIST_GROUPS: (
        Question(_DESCRIBE, _CLUSTER, _FALLS_BACK),
        Question(_DESCRIBE, _GROUP, _HIDES),
    ),
    # Transactions
    ApiKey.INIT_PRODUCER_ID: (
        Question(_WRITE, _TXN, when="with a transactional id"),
        Question(Operation.TWO_PHASE_COMMIT, _TXN, when="with two-phase commit"),
        Question(Operation.IDEMPOTENT_WRITE, _CLUSTER, _FALLS_BACK, when="without a transactional id"),
        Question(
            *(_WRITE, _TOPIC, _REFUSES, "without a transactional id; on any topic"),
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        Question(_BROKER, _CLUSTER, when="from version 4 on, which brokers send"),
        Question(_WRITE, _TXN, when="versions of clients"),
        Question(_WRITE, _TOPIC, when="versions of clients"),
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: (Question(_WRITE, _TXN), Question(_READ, _GROUP)),
    ApiKey.TXN_OFFSET_COMMIT: (
        Question(_WRITE, _TXN),
        Question(_READ, _GROUP),
        Question(_READ, _TOPIC),
    ),
    ApiKey.END_TXN: (Question(_WRITE, _TXN),),
    ApiKey.DESCRIBE_TRANSACTIONS: (
        Question(_DESCRIBE, _TXN),
        Question(_DESCRIBE, _TOPIC, _HIDES, when="partitions of the transaction"),
    ),
    ApiKey.LIST_TRANSACTIONS: (Question(_DESCRIBE, _TXN, _HIDES),),
    ApiKey.WRITE_TXN_MARKERS: (
        Question(_ALTER, _CLUSTER, _FALLS_BACK),
        Question(_BROKER, _CLUSTER),
    ),
    # Security
    ApiKey.SASL_HANDSHAKE: (),
    ApiKey.SASL_AUTHENTICATE: (),
    ApiKey.DESCRIBE_ACLS: (Question(_DESCRIBE, _CLUSTER),),
    ApiKey.CREATE_ACLS: (Question(_ALTER, _CLUSTER),),
    ApiKey.DELETE_ACLS: (Question(_ALTER, _CLUSTER),),
    ApiKey.DESCRIBE_ROLES: (Question(_DESCRIBE, _CLUSTER),),
    ApiKey.ALTER_ROLES: (Question(_ALTER, _CLUSTER),),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (Question(_DESCRIBE_CONFIGS, _CLUSTER),),
    ApiKey.ALTER_CLIENT_QUOTAS: (Question(_ALTER_CONFIGS, _CLUSTER),),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (Question(_DESCRIBE, _CLUSTER),),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (Question(_ALTER, _CLUSTER),),
    ApiKey.CREATE_DELEGATION_TOKEN: (
        Question(Operation.CREATE_TOKENS, _USER, when="a token that another user owns"),
    ),
    ApiKey.RENEW_DELEGATION_TOKEN: (),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (
        Question(_DESCRIBE, _TOKEN, _HIDES, when="tokens of other users"),
        Question(Operation.DESCRIBE_TOKENS, _USER, _HIDES, when="tokens of other users"),
    ),
    # Between brokers
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _BETWEEN_BROKERS,
    ApiKey.READ_SHARE_GROUP_STATE: _BETWEEN_BROKERS,
    ApiKey.WRITE_SHARE_GROUP_STATE: _BETWEEN_BROKERS,
    ApiKey.DELETE_SHARE_GROUP_STATE: _BETWEEN_BROKERS,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _BETWEEN_BROKERS,
    ApiKey.BROKER_REGISTRATION: _BETWEEN_BROKERS,
    ApiKey.BROKER_HEARTBEAT: _BETWEEN_BROKERS,
    ApiKey.ALTER_PARTITION: _BETWEEN_BROKERS,
    ApiKey.ALLOCATE_PRODUCER_IDS: _BETWEEN_BROKERS,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: _BETWEEN_BROKERS,
    ApiKey.SHARE_START_OFFSETS: _BETWEEN_BROKERS,
    ApiKey.REGISTRY_CALL: _BETWEEN_BROKERS,
    ApiKey.RAFT: _BETWEEN_BROKERS,
    ApiKey.FORWARD: _BETWEEN_BROKERS,
}
