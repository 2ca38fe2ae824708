"""Errors of a queue as a person reads them: what happened, the likely cause, and what to do."""

from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.blocking.errors import BrokersUnreachable, Disconnected, GaveUp, NoBroker, SecurityError
from tidelog.blocking.settings import ClusterSettings
from tidelog.clients import errors
from tidelog.clients.connection import find_mismatch
from tidelog.clients.diagnosis import trouble_of
from tidelog.clients.errors import ClientError
from tidelog.clients.permissions import UNKNOWN, acl_command

KINDS: dict[ErrorCode, type[ClientError]] = {
    ErrorCode.INVALID_REQUEST: errors.RequestRefused,
    ErrorCode.INVALID_GROUP_ID: errors.RequestRefused,
    ErrorCode.GROUP_MAX_SIZE_REACHED: errors.GroupError,
    ErrorCode.REQUEST_TIMED_OUT: errors.RequestTimedOut,
    ErrorCode.LEADER_NOT_AVAILABLE: errors.NoLeader,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: errors.CoordinatorUnavailable,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: errors.CoordinatorUnavailable,
    ErrorCode.NOT_COORDINATOR: errors.CoordinatorUnavailable,
}


def as_client_error(error: Exception, topic: str, group_id: str, settings: ClusterSettings) -> ClientError:
    if isinstance(error, ClientError):
        return error
    servers = ",".join(settings.servers)
    if isinstance(error, SecurityError):
        return trouble_of(error, servers).as_error()
    if isinstance(error, NoBroker | BrokersUnreachable | Disconnected | GaveUp):
        return _unreachable(error, servers, settings)
    if isinstance(error, KafkaError):
        return _refused(error, topic, group_id)
    return ClientError(f"The queue on topic {topic!r} failed: {error!r}.")


def unknown_topic(topic: str) -> ClientError:
    return errors.UnknownTopic(
        f"There is no topic {topic!r} to take jobs from.",
        code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        attempt=f"create it: tidelog topic create {topic}, or Admin.create_topic({topic!r}).",
    )


def _unreachable(error: TidelogError, servers: str, settings: ClusterSettings) -> ClientError:
    found = find_mismatch(servers, protocol_of(settings))
    if found is not None:
        return found.as_error()
    return errors.ConnectionFailed(
        f"No broker was reached at {servers} within {settings.limits.total_s:g} s.",
        cause=f"{error}.",
        retriable=True,
    )


def _refused(error: KafkaError, topic: str, group_id: str) -> ClientError:
    code = error.code
    said = (error.message or code.text).rstrip(".")
    if code is ErrorCode.UNSUPPORTED_VERSION:
        return errors.UnsupportedByBroker(
            f"The brokers do not offer share groups: {said}.",
            code=code,
            cause="the feature share.version is 0, or the brokers are Apache Kafka before 4.2.",
            attempt="switch it on: tidelog cluster upgrade, or with Apache Kafka: "
            "kafka-features.sh upgrade --feature share.version=1.",
        )
    if code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL or code is ErrorCode.GROUP_ID_NOT_FOUND:
        return errors.GroupError(
            f"Group {group_id!r} is not a share group: {said}.",
            code=code,
            cause="consumers use a consumer group of the same name.",
            attempt="pass another group_id to the queue.",
        )
    if code is ErrorCode.GROUP_AUTHORIZATION_FAILED:
        command = acl_command(UNKNOWN, ["Read"], "group", group_id)
        return _not_allowed(f"Taking jobs as group {group_id!r}", said, code, command)
    if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        command = acl_command(UNKNOWN, ["Read"], "topic", topic)
        return _not_allowed(f"Taking jobs from topic {topic!r}", said, code, command)
    if code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID):
        return unknown_topic(topic)
    if code is ErrorCode.INVALID_TOPIC_EXCEPTION:
        return errors.UnknownTopic(
            f"There can be no topic {topic!r} to take jobs from.",
            code=code,
            cause="a name has letters, digits, '.', '_' and '-', at most 249 of them.",
            attempt="pass the name of a topic; tidelog topic list shows them.",
        )
    kind = KINDS.get(code, errors.ConsumeError)
    return kind(
        f"Taking jobs from topic {topic!r} failed: {said} ({code.name}).", code=code, retriable=code.retriable
    )


def _not_allowed(what: str, said: str, code: ErrorCode, command: str) -> ClientError:
    return errors.AuthorizationFailed(
        f"{what} is not allowed: {said} ({code.name}).",
        code=code,
        attempt=f"let an administrator run: {command}.",
    )


def protocol_of(settings: ClusterSettings) -> str:
    """As `security.protocol` has it."""
    security = settings.security
    if security is None:
        return "plaintext"
    return ("sasl_" if security.sasl else "") + ("ssl" if security.tls else "plaintext")
