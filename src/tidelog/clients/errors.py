"""What a client can meet, as one tree under `TidelogError`; docs/client.md draws it.

Every error says what happened, the likely cause and what to do. Catch a leaf to handle one case,
`ClientError` to handle all of them.
"""

from collections.abc import Sequence
from typing import ClassVar

from tidelog.base.errors import ErrorCode, TidelogError
from tidelog.clients.records import TopicPartition


class ClientError(TidelogError):
    """What producers, consumers and `Admin` raise. Catch it to handle all of them, a subclass to handle one.

    Example:
        from tidelog import Admin, AdminConfig, ClientError

        with Admin(AdminConfig(bootstrap_servers=["localhost:9092"])) as admin:
            try:
                admin.describe_topic("no-such-topic")
            except ClientError as error:
                print(error.what)
                print(error.likely_cause, error.what_to_do)

    Attributes:
        what: What happened.
        likely_cause: Why it probably happened.
        what_to_do: What to try next.
        code: Kafka's error code where a broker refused; None where the client itself gave up.
        reason: librdkafka's name of the error, such as `_MSG_TIMED_OUT`; empty where it was not involved.
        retriable: Whether the same call may succeed later.
        fatal: Whether this client can no longer be used, so that a new client is needed.
        spoils_transaction: Whether the current transaction can only be aborted.
    """

    cause: ClassVar[str] = "the text above comes from the broker or from librdkafka as it is."
    attempt: ClassVar[str] = "look in the broker's log at that time."

    def __init__(
        self,
        what: str,
        *,
        cause: str | None = None,
        attempt: str | None = None,
        code: ErrorCode | None = None,
        reason: str = "",
        retriable: bool = False,
        fatal: bool = False,
        spoils_transaction: bool = False,
    ) -> None:
        self.what = what
        self.likely_cause = cause or self.cause
        self.what_to_do = attempt or self.attempt
        self.code = code
        self.reason = reason
        self.retriable = retriable
        self.fatal = fatal
        self.spoils_transaction = spoils_transaction
        super().__init__(f"{what} Likely cause: {self.likely_cause} What to do: {self.what_to_do}")


class ConfigurationError(ClientError, ValueError):
    """A configuration that contradicts itself, or that librdkafka does not accept."""

    cause = "a value is out of its bounds, or two of them exclude each other."
    attempt = "change the value that the message names."


class ClientClosed(ClientError):
    """A call on a producer, consumer or admin that is closed."""

    cause = "the `with` block has ended, or close() was called."
    attempt = "make a new client, or move the call into the block."


class UsageError(ClientError):
    """A call that does not fit the client or its state, such as `commit()` without a group."""

    cause = "the client was not prepared for this call."
    attempt = "see docs/client.md for the order of calls."


class ConnectionFailed(ClientError):
    """No broker could be reached, or the connection broke."""

    cause = (
        "the broker is down, the address is wrong, or it advertises a host that this machine cannot reach."
    )
    attempt = "check bootstrap_servers with: tidelog topic list -b HOST:PORT"


class RequestTimedOut(ClientError):
    """The broker did not answer in time."""

    cause = "the broker is overloaded, still starting, or unreachable from here."
    attempt = (
        "check that it answers (tidelog topic list -b HOST:PORT); call again, or raise request_timeout_ms."
    )


class AuthenticationFailed(ClientError):
    """The broker does not accept the client's credentials or its security protocol."""

    cause = "wrong credentials, or a security.protocol that does not fit the listener."
    attempt = "check the sasl.* and ssl.* properties in `extra`."


class AuthorizationFailed(ClientError):
    """The broker knows the client's user, and does not allow the operation."""

    cause = "no ACL allows the operation for this user."
    attempt = "ask for the ACL, or use another user."


class UnsupportedByBroker(ClientError):
    """The broker does not know this request, or not in a version that the client speaks."""

    cause = "an older broker, or a feature that it does not offer."
    attempt = "compare the broker's version with what the feature needs."


class RequestRefused(ClientError):
    """The broker found the request invalid: a name, a number or a setting."""

    cause = "a value that the broker does not accept; its own words are above."
    attempt = "correct the value and call again."


class TopicError(ClientError):
    """The family of errors about topics and partitions."""


class UnknownTopic(TopicError):
    """The topic or partition does not exist."""

    cause = "it was never created, was deleted, or lives in another cluster."
    attempt = "compare the name with the existing topics: tidelog topic list, or Admin.list_topics()."


class TopicExists(TopicError):
    """A topic of this name exists already."""

    cause = "it was created before."
    attempt = "use it as it is, or pass if_not_exists=True."


class NoLeader(TopicError):
    """The partition has no leader that could serve the request now."""

    cause = "brokers are down or an election is under way."
    attempt = "wait a moment and call again."


class ProduceError(ClientError):
    """A record was not written."""

    attempt = "send the record again, if the cause is gone."


class MessageTooLarge(ProduceError):
    """The record is larger than the client or the broker allows."""

    cause = "message.max.bytes of the client, or max.message.bytes of the topic, is smaller than the record."
    attempt = "send less, or raise both limits."


class BufferFull(ProduceError):
    """The queue of records that wait to be sent stayed full."""

    cause = "records are produced faster than the broker takes them, or no broker can be reached."
    attempt = "slow down, raise buffer_records or buffer_memory, or wait longer (max_block_ms)."


class DeliveryTimedOut(ProduceError):
    """The record was not acknowledged within delivery_timeout_ms. It may have been written all the same."""

    cause = "the broker cannot be reached, or is too slow."
    attempt = "check that the broker answers (tidelog topic list); raise delivery_timeout_ms if it is slow."


class NotEnoughReplicas(ProduceError):
    """Fewer replicas are in sync than min.insync.replicas asks for."""

    cause = "a broker that holds a replica is down or behind."
    attempt = "bring the broker back; the record can be sent again then."


class ProducerFenced(ProduceError):
    """Another producer with the same transactional id has taken over."""

    cause = (
        "two processes use one transactional_id, or the transaction was open longer than "
        "transaction_timeout_ms and the broker aborted it."
    )
    attempt = "close this producer, and make a new one if this process is to continue."


class TransactionAborted(ProduceError):
    """Nothing of the transaction counts: neither its records nor its offsets."""

    cause = "a record or the offsets could not be written."
    attempt = "call rewind() of the consumer, if there is one, and run the block again."


class TransactionUndecided(ProduceError):
    """The commit was sent, and no broker answered: it counts as a whole or not at all."""

    cause = "the broker that coordinates the transaction cannot be reached."
    attempt = (
        "call commit() of the transaction again; or make a new producer with the same transactional_id, "
        "and see from the committed offsets what counts."
    )


class ConsumeError(ClientError):
    """Reading failed."""


class OffsetOutOfRange(ConsumeError):
    """The wanted offset is not in the log, and auto_offset_reset is NONE."""

    cause = "records were deleted by retention, or there is no committed offset yet."
    attempt = "seek to an offset that exists, or choose OffsetResetPolicy.EARLIEST or LATEST."


class PollIntervalExceeded(ConsumeError):
    """Too much time passed between two polls, so the group gave the partitions to others."""

    cause = "handling the messages of one poll took longer than max_poll_interval_ms."
    attempt = "lower max_poll_records or raise max_poll_interval_ms; the next poll joins the group again."


class JobLost(ConsumeError):
    """The broker has given a job of a queue to another worker, or will: acknowledging it had no effect.

    Attributes:
        offsets: Partition and offset of each lost job.
    """

    cause = "the job took longer than its lock, or the connection broke or the partition's leader changed."
    attempt = "write handlers that may run twice; extend the lock (auto_extend_ms) if the work takes long."

    def __init__(self, what: str, *, offsets: Sequence[tuple[int, int]] = ()) -> None:
        super().__init__(what)
        self.offsets = tuple(offsets)


class GroupError(ClientError):
    """The family of errors about consumer groups and committed offsets."""


class CommitRefused(GroupError):
    """The group has moved on: this consumer does not own the partitions any more."""

    cause = "a rebalance took the partitions away, often after a long pause between polls."
    attempt = "keep polling; the new owner reads these messages again from the last commit."


class CoordinatorUnavailable(GroupError):
    """The group's coordinator cannot be found, or is loading."""

    cause = "it has just started, or this broker offers no consumer groups."
    attempt = "call again after a moment."


class MemberFenced(GroupError):
    """Another consumer uses the same group_instance_id."""

    cause = "two processes were given one group_instance_id."
    attempt = "give each process its own."


class UnknownGroup(GroupError):
    """The group does not exist."""

    cause = "it never committed or joined, or it expired."
    attempt = "list the existing groups: Admin.list_groups()."


class GroupNotEmpty(GroupError):
    """The group still has members."""

    cause = "consumers of it are running, or stopped less than session_timeout_ms ago without closing."
    attempt = "stop its consumers first."


class DataError(ClientError):
    """The family of errors about bytes and objects that do not fit together."""


class SerializationError(DataError):
    """A key, value or header could not be turned into bytes."""

    cause = "the serializer does not take objects of this type."
    attempt = (
        "pass bytes or str, or give the producer a serializer (json_serializer, or a function of your own)."
    )


class DeserializationError(DataError):
    """The bytes of a message could not be turned into an object. The next `poll` continues after it.

    Attributes:
        topic_partition: The partition of the message.
        offset: Its offset.
        key: The bytes of its key.
        value: The bytes of its value.
    """

    cause = "the message was written in another format."
    attempt = "call poll() again to continue after it, and look at error.value to see what it holds."

    def __init__(
        self, what: str, *, place: TopicPartition, offset: int, key: bytes | None, value: bytes | None
    ) -> None:
        super().__init__(what)
        self.topic_partition = place
        self.offset = offset
        self.key = key
        self.value = value
