"""Kafka's error codes, each with a text and whether a retry can help.

Raise `KafkaError` where a request must be refused; the handler turns it into the code on the wire.
"""

from enum import IntEnum


class ErrorCode(IntEnum):
    text: str
    retriable: bool

    def __new__(cls, code: int, retriable: bool, text: str) -> "ErrorCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.text = text
        member.retriable = retriable
        return member

    @classmethod
    def of(cls, code: int) -> "ErrorCode":
        """Returns the error with this code; UNKNOWN_SERVER_ERROR for a code that this version does not
        know."""
        found = cls._value2member_map_.get(code)
        return found if isinstance(found, cls) else cls.UNKNOWN_SERVER_ERROR

    UNKNOWN_SERVER_ERROR = (-1, False, "The broker hit an unexpected error; see its log.")
    NONE = (0, False, "No error.")
    OFFSET_OUT_OF_RANGE = (1, False, "The offset is not within the range the broker holds.")
    CORRUPT_MESSAGE = (2, True, "The message failed its CRC, has an invalid size, or is otherwise corrupt.")
    UNKNOWN_TOPIC_OR_PARTITION = (3, True, "This broker does not host this topic-partition.")
    INVALID_FETCH_SIZE = (4, False, "The fetch size is invalid.")
    LEADER_NOT_AVAILABLE = (5, True, "There is no leader for this topic-partition right now.")
    NOT_LEADER_OR_FOLLOWER = (6, True, "This broker is neither leader nor follower of the topic-partition.")
    REQUEST_TIMED_OUT = (7, True, "The request timed out.")
    BROKER_NOT_AVAILABLE = (8, False, "The broker is not available.")
    REPLICA_NOT_AVAILABLE = (9, True, "The replica is not available.")
    MESSAGE_TOO_LARGE = (10, False, "The message is larger than the broker accepts.")
    STALE_CONTROLLER_EPOCH = (11, False, "The controller moved to another broker.")
    OFFSET_METADATA_TOO_LARGE = (12, False, "The metadata of the offset commit is too large.")
    NETWORK_EXCEPTION = (13, True, "The server disconnected before it sent a response.")
    COORDINATOR_LOAD_IN_PROGRESS = (14, True, "The coordinator is loading and cannot answer yet.")
    COORDINATOR_NOT_AVAILABLE = (15, True, "The coordinator is not available.")
    NOT_COORDINATOR = (16, True, "This broker is not the coordinator.")
    INVALID_TOPIC_EXCEPTION = (17, False, "The topic name is not valid.")
    RECORD_LIST_TOO_LARGE = (18, False, "The batch is larger than the maximum segment size.")
    NOT_ENOUGH_REPLICAS = (19, True, "Fewer replicas are in sync than min.insync.replicas requires.")
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        True,
        "The messages were written, but to fewer in-sync replicas than required.",
    )
    INVALID_REQUIRED_ACKS = (21, False, "Acks must be -1, 0 or 1.")
    ILLEGAL_GENERATION = (22, False, "The group generation is not valid.")
    INCONSISTENT_GROUP_PROTOCOL = (23, False, "The member's protocols do not fit those of the group.")
    INVALID_GROUP_ID = (24, False, "The group id is not valid.")
    UNKNOWN_MEMBER_ID = (25, False, "The coordinator does not know this member.")
    INVALID_SESSION_TIMEOUT = (26, False, "The session timeout is outside the broker's bounds.")
    REBALANCE_IN_PROGRESS = (27, False, "The group is rebalancing; rejoin it.")
    INVALID_COMMIT_OFFSET_SIZE = (28, False, "The committed offset data is not valid.")
    TOPIC_AUTHORIZATION_FAILED = (29, False, "Topic authorization failed.")
    GROUP_AUTHORIZATION_FAILED = (30, False, "Group authorization failed.")
    CLUSTER_AUTHORIZATION_FAILED = (31, False, "Cluster authorization failed.")
    INVALID_TIMESTAMP = (32, False, "The timestamp of the message is out of the acceptable range.")
    UNSUPPORTED_SASL_MECHANISM = (33, False, "The broker does not support the requested SASL mechanism.")
    ILLEGAL_SASL_STATE = (34, False, "The request does not fit the current SASL state.")
    UNSUPPORTED_VERSION = (35, False, "The version of the API is not supported.")
    TOPIC_ALREADY_EXISTS = (36, False, "A topic with this name exists already.")
    INVALID_PARTITIONS = (37, False, "The number of partitions is not valid.")
    INVALID_REPLICATION_FACTOR = (
        38,
        False,
        "The replication factor is below 1 or larger than the number of available brokers.",
    )
    INVALID_REPLICA_ASSIGNMENT = (39, False, "The replica assignment is not valid.")
    INVALID_CONFIG = (40, False, "The configuration is not valid.")
    NOT_CONTROLLER = (41, True, "This broker is not the controller.")
    INVALID_REQUEST = (42, False, "The request breaks the rules of the protocol or misses a field.")
    UNSUPPORTED_FOR_MESSAGE_FORMAT = (
        43,
        False,
        "The message format of the broker does not support the request.",
    )
    POLICY_VIOLATION = (44, False, "The request violates a policy.")
    OUT_OF_ORDER_SEQUENCE_NUMBER = (45, False, "The broker received an out of order sequence number.")
    DUPLICATE_SEQUENCE_NUMBER = (46, False, "The broker received a duplicate sequence number.")
    INVALID_PRODUCER_EPOCH = (47, False, "The producer tried to produce with an old epoch.")
    INVALID_TXN_STATE = (48, False, "The producer attempted a transactional operation in an invalid state.")
    INVALID_PRODUCER_ID_MAPPING = (49, False, "The producer id does not fit the transactional id.")
    INVALID_TRANSACTION_TIMEOUT = (
        50,
        False,
        "The transaction timeout is larger than transaction.max.timeout.ms.",
    )
    CONCURRENT_TRANSACTIONS = (51, True, "Another operation of this transaction is still under way.")
    TRANSACTION_COORDINATOR_FENCED = (52, False, "The transaction coordinator is stale.")
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = (53, False, "Transactional id authorization failed.")
    SECURITY_DISABLED = (54, False, "Security features are disabled.")
    OPERATION_NOT_ATTEMPTED = (
        55,
        False,
        "The operation was not attempted, since an earlier one of its batch failed.",
    )
    KAFKA_STORAGE_ERROR = (56, True, "The log dir of this partition is offline after a disk error.")
    LOG_DIR_NOT_FOUND = (57, False, "The broker has no such log dir.")
    SASL_AUTHENTICATION_FAILED = (58, False, "SASL authentication failed.")
    UNKNOWN_PRODUCER_ID = (59, False, "The broker has no metadata for the producer id.")
    REASSIGNMENT_IN_PROGRESS = (60, False, "A partition reassignment is under way.")
    DELEGATION_TOKEN_AUTH_DISABLED = (61, False, "Delegation tokens are disabled.")
    DELEGATION_TOKEN_NOT_FOUND = (62, False, "The delegation token is unknown.")
    DELEGATION_TOKEN_OWNER_MISMATCH = (63, False, "The principal is not the token's owner or renewer.")
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (
        64,
        False,
        "Delegation token requests are not allowed on this channel.",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = (65, False, "Delegation token authorization failed.")
    DELEGATION_TOKEN_EXPIRED = (66, False, "The delegation token has expired.")
    INVALID_PRINCIPAL_TYPE = (67, False, "The principal type is not supported.")
    NON_EMPTY_GROUP = (68, False, "The group is not empty.")
    GROUP_ID_NOT_FOUND = (69, False, "The group does not exist.")
    FETCH_SESSION_ID_NOT_FOUND = (70, True, "The fetch session is unknown.")
    INVALID_FETCH_SESSION_EPOCH = (71, True, "The epoch of the fetch session is not the expected one.")
    LISTENER_NOT_FOUND = (72, True, "The leader has no listener of the name this request came in on.")
    TOPIC_DELETION_DISABLED = (73, False, "Topic deletion is disabled.")
    FENCED_LEADER_EPOCH = (74, True, "The leader epoch in the request is older than the broker's.")
    UNKNOWN_LEADER_EPOCH = (75, True, "The leader epoch in the request is newer than the broker's.")
    UNSUPPORTED_COMPRESSION_TYPE = (76, False, "The compression type is not supported in this version.")
    STALE_BROKER_EPOCH = (77, False, "The broker epoch has changed.")
    OFFSET_NOT_AVAILABLE = (78, True, "The leader's high watermark has not caught up yet.")
    MEMBER_ID_REQUIRED = (79, False, "The member must join again with the id it was given.")
    PREFERRED_LEADER_NOT_AVAILABLE = (80, True, "The preferred leader is not available.")
    GROUP_MAX_SIZE_REACHED = (81, False, "The group is full.")
    FENCED_INSTANCE_ID = (82, False, "A newer member uses this static instance id.")
    ELIGIBLE_LEADERS_NOT_AVAILABLE = (83, True, "No eligible leader is available.")
    ELECTION_NOT_NEEDED = (84, True, "No leader election is needed for the partition.")
    NO_REASSIGNMENT_IN_PROGRESS = (85, False, "No partition reassignment is under way.")
    GROUP_SUBSCRIBED_TO_TOPIC = (86, False, "A consumer of the group is subscribed to the topic.")
    INVALID_RECORD = (87, False, "A record failed the broker's validation.")
    UNSTABLE_OFFSET_COMMIT = (88, True, "Some offsets are pending until a transaction ends.")
    THROTTLING_QUOTA_EXCEEDED = (89, True, "The throttling quota has been exceeded.")
    PRODUCER_FENCED = (90, False, "A newer producer with the same transactional id fences this one.")
    RESOURCE_NOT_FOUND = (91, False, "The resource does not exist.")
    DUPLICATE_RESOURCE = (92, False, "The resource is named twice in one request.")
    UNACCEPTABLE_CREDENTIAL = (93, False, "The credential does not meet the criteria.")
    INCONSISTENT_VOTER_SET = (94, False, "The voter set of the request differs from the receiver's.")
    INVALID_UPDATE_VERSION = (95, False, "The update version is not valid.")
    FEATURE_UPDATE_FAILED = (96, False, "The features could not be updated.")
    PRINCIPAL_DESERIALIZATION_FAILURE = (97, False, "The forwarded principal could not be read.")
    SNAPSHOT_NOT_FOUND = (98, False, "The snapshot does not exist.")
    POSITION_OUT_OF_RANGE = (99, False, "The position is not within the snapshot.")
    UNKNOWN_TOPIC_ID = (100, True, "This broker does not host a topic with this id.")
    DUPLICATE_BROKER_REGISTRATION = (101, False, "A broker with this id is registered already.")
    BROKER_ID_NOT_REGISTERED = (102, False, "The broker id is not registered.")
    INCONSISTENT_TOPIC_ID = (103, True, "The topic id of the log differs from the request's.")
    INCONSISTENT_CLUSTER_ID = (104, False, "The cluster id of the request differs from the broker's.")
    TRANSACTIONAL_ID_NOT_FOUND = (105, False, "The transactional id is unknown.")
    FETCH_SESSION_TOPIC_ID_ERROR = (106, True, "The fetch session mixes topic names and ids.")
    INELIGIBLE_REPLICA = (107, False, "The replica may not join the in-sync set.")
    NEW_LEADER_ELECTED = (108, False, "The change elected a new leader.")
    OFFSET_MOVED_TO_TIERED_STORAGE = (109, False, "The offset is held in tiered storage.")
    FENCED_MEMBER_EPOCH = (110, False, "The member epoch is fenced; rejoin the group.")
    UNRELEASED_INSTANCE_ID = (111, False, "The instance id is still used by another member.")
    UNSUPPORTED_ASSIGNOR = (112, False, "The assignor is not supported by the group.")
    STALE_MEMBER_EPOCH = (113, False, "The member epoch is stale; retry after a heartbeat.")
    MISMATCHED_ENDPOINT_TYPE = (114, False, "The request went to an endpoint of the wrong kind.")
    UNSUPPORTED_ENDPOINT_TYPE = (115, False, "This kind of endpoint is not supported.")
    UNKNOWN_CONTROLLER_ID = (116, False, "The controller id is unknown.")
    UNKNOWN_SUBSCRIPTION_ID = (117, False, "The telemetry subscription is unknown.")
    TELEMETRY_TOO_LARGE = (118, False, "The telemetry push is larger than allowed.")
    INVALID_REGISTRATION = (119, False, "The broker registration is not valid.")
    TRANSACTION_ABORTABLE = (
        120,
        False,
        "The transaction must be aborted; the producer may go on after that.",
    )
    INVALID_RECORD_STATE = (121, False, "The record is not in the state the operation needs.")
    SHARE_SESSION_NOT_FOUND = (122, True, "The share session is unknown.")
    INVALID_SHARE_SESSION_EPOCH = (123, True, "The epoch of the share session is not the expected one.")
    FENCED_STATE_EPOCH = (124, False, "The state epoch of the share group is fenced.")
    INVALID_VOTER_KEY = (125, False, "The voter key does not match the receiver's.")
    DUPLICATE_VOTER = (126, False, "The voter is in the voter set already.")
    VOTER_NOT_FOUND = (127, False, "The voter is not in the voter set.")
    INVALID_REGULAR_EXPRESSION = (128, False, "The regular expression is not valid.")
    REBOOTSTRAP_REQUIRED = (129, False, "The client's metadata is stale; it should bootstrap again.")
    STREAMS_INVALID_TOPOLOGY = (130, False, "The streams topology is not valid.")
    STREAMS_INVALID_TOPOLOGY_EPOCH = (131, False, "The epoch of the streams topology is not valid.")
    STREAMS_TOPOLOGY_FENCED = (132, False, "The streams topology is outdated.")
    SHARE_SESSION_LIMIT_REACHED = (133, True, "The limit of share sessions has been reached.")


class TidelogError(Exception):
    """The root of every error that Tidelog raises on purpose."""


class ProtocolError(TidelogError):
    """Bytes that are not the Kafka protocol. The connection they came on is closed."""


class KafkaError(TidelogError):
    """A refusal that has a code in the protocol; `message` is for people."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(f"{code.name}: {message or code.text}")
        self.code = code
        self.message = message or code.text


class StorageError(TidelogError):
    """The disk failed or holds invalid data; names the file and the position in it."""
