"""From librdkafka's errors to ours. What is not in the table is a plain ClientError."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from tidelog.base.errors import ErrorCode
from tidelog.clients import errors
from tidelog.clients.errors import ClientError
from tidelog.clients.permissions import UNKNOWN, permission_of

# By librdkafka's names; those with an underscore arise in the client.
CLASSES: dict[str, type[ClientError]] = {
    "_TRANSPORT": errors.ConnectionFailed,
    "_RESOLVE": errors.ConnectionFailed,
    "_ALL_BROKERS_DOWN": errors.ConnectionFailed,
    "_SSL": errors.ConnectionFailed,
    "_DESTROY": errors.ClientClosed,
    "NETWORK_EXCEPTION": errors.ConnectionFailed,
    "BROKER_NOT_AVAILABLE": errors.ConnectionFailed,
    "_TIMED_OUT": errors.RequestTimedOut,
    "_TIMED_OUT_QUEUE": errors.RequestTimedOut,
    "REQUEST_TIMED_OUT": errors.RequestTimedOut,
    "_AUTHENTICATION": errors.AuthenticationFailed,
    "SASL_AUTHENTICATION_FAILED": errors.AuthenticationFailed,
    "UNSUPPORTED_SASL_MECHANISM": errors.AuthenticationFailed,
    "ILLEGAL_SASL_STATE": errors.AuthenticationFailed,
    "TOPIC_AUTHORIZATION_FAILED": errors.AuthorizationFailed,
    "GROUP_AUTHORIZATION_FAILED": errors.AuthorizationFailed,
    "CLUSTER_AUTHORIZATION_FAILED": errors.AuthorizationFailed,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": errors.AuthorizationFailed,
    "_UNSUPPORTED_FEATURE": errors.UnsupportedByBroker,
    "UNSUPPORTED_VERSION": errors.UnsupportedByBroker,
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": errors.UnsupportedByBroker,
    "UNSUPPORTED_COMPRESSION_TYPE": errors.UnsupportedByBroker,
    "_INVALID_ARG": errors.UsageError,
    "_STATE": errors.UsageError,
    "_CONFLICT": errors.UsageError,
    "_NOT_CONFIGURED": errors.UsageError,
    "INVALID_REQUEST": errors.RequestRefused,
    "INVALID_CONFIG": errors.RequestRefused,
    "INVALID_PARTITIONS": errors.RequestRefused,
    "INVALID_REPLICATION_FACTOR": errors.RequestRefused,
    "INVALID_REPLICA_ASSIGNMENT": errors.RequestRefused,
    "INVALID_GROUP_ID": errors.RequestRefused,
    "INVALID_SESSION_TIMEOUT": errors.RequestRefused,
    "INVALID_REGULAR_EXPRESSION": errors.RequestRefused,
    "POLICY_VIOLATION": errors.RequestRefused,
    "TOPIC_EXCEPTION": errors.RequestRefused,
    "TOPIC_DELETION_DISABLED": errors.RequestRefused,
    "UNSUPPORTED_ASSIGNOR": errors.RequestRefused,
    "UNKNOWN_TOPIC_OR_PART": errors.UnknownTopic,
    "UNKNOWN_TOPIC_ID": errors.UnknownTopic,
    "_UNKNOWN_TOPIC": errors.UnknownTopic,
    "_UNKNOWN_PARTITION": errors.UnknownTopic,
    "_NOENT": errors.UnknownTopic,  # "no leaders found" for a partition that does not exist
    "TOPIC_ALREADY_EXISTS": errors.TopicExists,
    "LEADER_NOT_AVAILABLE": errors.NoLeader,
    "NOT_LEADER_FOR_PARTITION": errors.NoLeader,
    "KAFKA_STORAGE_ERROR": errors.NoLeader,
    "MSG_SIZE_TOO_LARGE": errors.MessageTooLarge,
    "RECORD_LIST_TOO_LARGE": errors.MessageTooLarge,
    "_QUEUE_FULL": errors.BufferFull,
    "_MSG_TIMED_OUT": errors.DeliveryTimedOut,
    "NOT_ENOUGH_REPLICAS": errors.NotEnoughReplicas,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": errors.NotEnoughReplicas,
    "PRODUCER_FENCED": errors.ProducerFenced,
    "INVALID_PRODUCER_EPOCH": errors.ProducerFenced,
    "_FENCED": errors.ProducerFenced,
    "INVALID_TRANSACTION_TIMEOUT": errors.RequestRefused,
    "INVALID_TXN_STATE": errors.ProduceError,
    "CONCURRENT_TRANSACTIONS": errors.ProduceError,
    "INVALID_PRODUCER_ID_MAPPING": errors.ProduceError,
    "UNKNOWN_PRODUCER_ID": errors.ProduceError,
    "INVALID_RECORD": errors.ProduceError,
    "INVALID_MSG": errors.ProduceError,
    "INVALID_TIMESTAMP": errors.ProduceError,
    "OUT_OF_ORDER_SEQUENCE_NUMBER": errors.ProduceError,
    "_PURGE_QUEUE": errors.ProduceError,
    "_PURGE_INFLIGHT": errors.ProduceError,
    "_GAPLESS_GUARANTEE": errors.ProduceError,
    "OFFSET_OUT_OF_RANGE": errors.OffsetOutOfRange,
    "_AUTO_OFFSET_RESET": errors.OffsetOutOfRange,
    "_MAX_POLL_EXCEEDED": errors.PollIntervalExceeded,
    "_BAD_MSG": errors.ConsumeError,
    "_BAD_COMPRESSION": errors.ConsumeError,
    "_LOG_TRUNCATION": errors.ConsumeError,
    "ILLEGAL_GENERATION": errors.CommitRefused,
    "UNKNOWN_MEMBER_ID": errors.CommitRefused,
    "REBALANCE_IN_PROGRESS": errors.CommitRefused,
    "STALE_MEMBER_EPOCH": errors.CommitRefused,
    "FENCED_MEMBER_EPOCH": errors.CommitRefused,
    "_ASSIGNMENT_LOST": errors.CommitRefused,
    "_WAIT_COORD": errors.CoordinatorUnavailable,
    "COORDINATOR_NOT_AVAILABLE": errors.CoordinatorUnavailable,
    "COORDINATOR_LOAD_IN_PROGRESS": errors.CoordinatorUnavailable,
    "NOT_COORDINATOR": errors.CoordinatorUnavailable,
    "FENCED_INSTANCE_ID": errors.MemberFenced,
    "UNRELEASED_INSTANCE_ID": errors.MemberFenced,
    "GROUP_ID_NOT_FOUND": errors.UnknownGroup,
    "_UNKNOWN_GROUP": errors.UnknownGroup,
    "NON_EMPTY_GROUP": errors.GroupNotEmpty,
    "GROUP_SUBSCRIBED_TO_TOPIC": errors.GroupNotEmpty,
    "INCONSISTENT_GROUP_PROTOCOL": errors.GroupError,
    "GROUP_MAX_SIZE_REACHED": errors.GroupError,
    "OFFSET_METADATA_TOO_LARGE": errors.GroupError,
    "UNSTABLE_OFFSET_COMMIT": errors.GroupError,
    "_NO_OFFSET": errors.GroupError,
}

RETRIABLE_HERE = {
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "_TIMED_OUT",
    "_TIMED_OUT_QUEUE",
    "_WAIT_COORD",
    "_QUEUE_FULL",
}

KAFKA_CODES = {int(code): code for code in ErrorCode if code is not ErrorCode.NONE}

# These lose their meaning once the record is what the call was about.
WHILE_PRODUCING: dict[str, type[ClientError]] = {
    "_TIMED_OUT": errors.DeliveryTimedOut,
    "REQUEST_TIMED_OUT": errors.DeliveryTimedOut,
}


# Of errors that say more than their class: the likely cause, and what to do.
SEE_PARTITIONS = "see how many it has: tidelog topic describe NAME, or Admin.describe_topic(NAME)."
ADVICE = {
    "_UNKNOWN_PARTITION": ("the topic has fewer partitions; they are numbered from 0.", SEE_PARTITIONS),
    "_NOENT": ("the topic has fewer partitions, or no broker leads this one.", SEE_PARTITIONS),
}
# Who sends to a topic or reads it wants it to be there; who deletes or describes it does not.
CREATE_IT = "create it: tidelog topic create NAME, or Admin.create_topic(NAME)."
TO_BE_CREATED = ("UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC")


def as_client_error(
    error: KafkaError, what: str, *, producing: bool = False, reading: bool = False
) -> ClientError:
    """`what` names the operation: "Creating topic 'a'"."""
    name = error.name() if error.code() != KafkaError._FATAL else _name_within(error.str())
    chosen = CLASSES.get(name, errors.ProduceError if producing else ClientError)
    if producing:
        chosen = WHILE_PRODUCING.get(name, chosen)
    said = (error.str() or name).strip().rstrip(".")
    cause, attempt = ADVICE.get(name, (None, None))
    if (producing or reading) and name in TO_BE_CREATED:
        attempt = CREATE_IT
    if (missing := permission_of(name, what, said)) is not None:
        attempt = f"let an administrator run: {missing.command(UNKNOWN)}."
    code = KAFKA_CODES.get(getattr(KafkaError, name, error.code()))
    return chosen(
        f"{what} failed: {said} ({name}).",
        cause=cause,
        attempt=attempt,
        code=code,
        reason=name,
        retriable=error.retriable() or name in RETRIABLE_HERE or (code is not None and code.retriable),
        fatal=error.fatal() or error.code() == KafkaError._FATAL,
        spoils_transaction=error.txn_requires_abort(),
    )


def _name_within(text: str) -> str:
    """A fatal error says only in words which one it came from: "Fatal error: Broker: Producer fenced…"."""
    for name in CLASSES:
        code = getattr(KafkaError, name, None)  # older librdkafkas do not know them all
        if code is not None and KafkaError(code).str() in text:
            return name
    return "_FATAL"


@contextmanager
def translated(what: str, *, producing: bool = False) -> Iterator[None]:
    """Let librdkafka's exceptions leave the block as ours."""
    try:
        yield
    except KafkaException as error:
        raise from_exception(error, what, producing=producing) from error


def from_exception(error: KafkaException, what: str, *, producing: bool = False) -> ClientError:
    inner: Any = error.args[0] if error.args else None
    if isinstance(inner, KafkaError):
        return as_client_error(inner, what, producing=producing)
    return ClientError(f"{what} failed: {error}.")
