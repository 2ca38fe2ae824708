"""How a consumer works, alone or in a group, with the settings that exclude each other refused."""

from dataclasses import dataclass
from typing import Any

from tidelog.clients.client_config import ClientConfig, kilobytes, refuse_if, refused, word_value
from tidelog.clients.options import AssignmentStrategy, GroupProtocol, IsolationLevel, OffsetResetPolicy

NO_GROUP = "tidelog-no-group"
"""librdkafka wants a group id even where none is used: nothing is ever committed under this one."""

SESSION_TIMEOUT_MS = 45_000
HEARTBEAT_INTERVAL_MS = 3_000


@dataclass(frozen=True, kw_only=True)
class ConsumerConfig(ClientConfig):
    """How a consumer reads, alone or in a group. Frozen, and checked when it is made.

    With a `group_id`, consumers share the partitions of the topics that they subscribe to, and the group
    remembers how far it has come. Without one, the application assigns partitions itself. Settings that
    exclude each other raise `ConfigurationError`, with the reason.

    Example:
        from tidelog import Consumer, ConsumerConfig, OffsetResetPolicy

        config = ConsumerConfig(
            bootstrap_servers=["localhost:9092"],
            group_id="billing",
            auto_offset_reset=OffsetResetPolicy.EARLIEST,
        )
        with Consumer(config) as consumer:
            consumer.subscribe(["orders"])

    Attributes:
        group_id: The group to share the work with. None: `assign` partitions, and commit nothing.
        auto_offset_reset: Where to begin without a committed offset.
        max_poll_records: The most messages that one `poll` hands out.
        enable_auto_commit: Commit handled messages in the background. None: yes in a group.
        auto_commit_interval_ms: How often that happens.
        max_poll_interval_ms: A consumer that does not poll for so long loses its partitions.
        session_timeout_ms: A consumer that the group does not hear of for so long is dead. None: 45 s.
            Classic protocol only.
        heartbeat_interval_ms: How often the group hears of this consumer. None: every 3 s. Classic protocol
            only.
        group_instance_id: Makes this a static member, which may restart within the session timeout without a
            rebalance. Give each process its own.
        group_protocol: How the group shares out its partitions.
        group_remote_assignor: The broker's assignor, such as `uniform`; with `GroupProtocol.CONSUMER` only.
        assignment_strategy: The members' assignor; with `GroupProtocol.CLASSIC` only.
        isolation_level: Whether records of open and aborted transactions are seen.
        fetch_min_bytes: The broker waits until it has so many bytes for the consumer.
        fetch_max_wait_ms: And answers after this time at the latest.
        fetch_max_bytes: The most that one answer brings.
        max_partition_fetch_bytes: The most that one answer brings of a single partition.
        buffer_records: Messages that an `AsyncConsumer` takes over from its thread in advance, at most.
        buffer_memory: Bytes that are fetched in advance, at most.
    """

    group_id: str | None = None
    auto_offset_reset: OffsetResetPolicy = OffsetResetPolicy.LATEST
    max_poll_records: int = 500
    enable_auto_commit: bool | None = None
    auto_commit_interval_ms: int = 5_000
    max_poll_interval_ms: int = 300_000
    session_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    group_instance_id: str | None = None
    group_protocol: GroupProtocol = GroupProtocol.CLASSIC
    group_remote_assignor: str | None = None
    assignment_strategy: AssignmentStrategy | None = None
    isolation_level: IsolationLevel = IsolationLevel.READ_COMMITTED
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 50 * 1024 * 1024
    max_partition_fetch_bytes: int = 1024 * 1024
    buffer_records: int = 1_000
    buffer_memory: int = 64 * 1024 * 1024

    @property
    def commits_itself(self) -> bool:
        """Whether handled messages are committed in the background."""
        return self.group_id is not None if self.enable_auto_commit is None else self.enable_auto_commit

    @property
    def is_incremental(self) -> bool:
        """Whether a rebalance takes and gives single partitions, not all of them."""
        strategy = self.extra.get("partition.assignment.strategy", word_value(self.assignment_strategy))
        return self.group_protocol is GroupProtocol.CONSUMER or "cooperative" in (strategy or "")

    def _check(self) -> None:
        self._word("auto_offset_reset", OffsetResetPolicy)
        self._word("group_protocol", GroupProtocol)
        self._word("assignment_strategy", AssignmentStrategy)
        self._word("isolation_level", IsolationLevel)
        self._between("max_poll_records", 1, 1_000_000)
        self._between("auto_commit_interval_ms", 1, 86_400_000)
        self._between("max_poll_interval_ms", 1, 86_400_000)
        self._between("session_timeout_ms", 1, 3_600_000)
        self._between("heartbeat_interval_ms", 1, 3_600_000)
        self._between("fetch_min_bytes", 1, 100_000_000)
        self._between("fetch_max_wait_ms", 0, 300_000)
        self._between("fetch_max_bytes", 1)
        self._between("max_partition_fetch_bytes", 1, 1_000_000_000)
        self._between("buffer_records", 2, 10_000_000)
        self._between("buffer_memory", 1024)
        refuse_if(
            self.max_partition_fetch_bytes > self.fetch_max_bytes,
            f"max_partition_fetch_bytes={self.max_partition_fetch_bytes:_} is more than "
            f"fetch_max_bytes={self.fetch_max_bytes:_}.",
            "lower the first or raise the second.",
            "one partition cannot bring more than the whole answer.",
        )
        if self.group_id is None:
            self._check_without_group()
        else:
            self._check_group()

    def _check_without_group(self) -> None:
        for name in (
            "enable_auto_commit",
            "group_instance_id",
            "assignment_strategy",
            "group_remote_assignor",
        ):
            if getattr(self, name):
                raise refused(
                    f"{name}={getattr(self, name)!r} needs a group_id.",
                    f"name a group_id, or leave {name} out.",
                    "offsets are committed, and partitions shared, within a group.",
                )

    def _check_group(self) -> None:
        refuse_if(not self.group_id, "group_id is empty.", "name the group, or leave group_id out.")
        if self.group_protocol is GroupProtocol.CONSUMER:
            for name in ("session_timeout_ms", "heartbeat_interval_ms", "assignment_strategy"):
                if getattr(self, name) is not None:
                    raise refused(
                        f"{name} contradicts group_protocol=GroupProtocol.CONSUMER.",
                        f"leave {name} out, or use GroupProtocol.CLASSIC.",
                        "with the new protocol the broker decides it for the whole group.",
                    )
            return
        refuse_if(
            self.group_remote_assignor is not None,
            "group_remote_assignor needs group_protocol=GroupProtocol.CONSUMER.",
            "use assignment_strategy with the classic protocol.",
            "in a classic group the members assign, not the broker.",
        )
        session = self.session_timeout_ms or SESSION_TIMEOUT_MS
        heartbeat = self.heartbeat_interval_ms or HEARTBEAT_INTERVAL_MS
        refuse_if(
            heartbeat >= session,
            f"heartbeat_interval_ms={heartbeat} is not less than session_timeout_ms={session}.",
            "use a third of session_timeout_ms or less.",
            "the group would declare the consumer dead between two heartbeats.",
        )
        refuse_if(
            session > self.max_poll_interval_ms,
            f"session_timeout_ms={session} is more than max_poll_interval_ms={self.max_poll_interval_ms}.",
            "raise max_poll_interval_ms or lower session_timeout_ms.",
            "a consumer that is allowed to be silent must be allowed to be slow as well.",
        )

    def _properties(self) -> dict[str, Any]:
        return {
            **super()._properties(),
            "group.id": self.group_id or NO_GROUP,
            "auto.offset.reset": self.auto_offset_reset.value,
            "enable.auto.commit": self.commits_itself,
            "auto.commit.interval.ms": self.auto_commit_interval_ms if self.commits_itself else None,
            # An offset is stored when its message has been handled, not when it was handed out.
            "enable.auto.offset.store": False,
            "max.poll.interval.ms": self.max_poll_interval_ms,
            "session.timeout.ms": self.session_timeout_ms,
            "heartbeat.interval.ms": self.heartbeat_interval_ms,
            "group.instance.id": self.group_instance_id,
            "group.protocol": word_value(self.group_protocol) if self.group_id else None,
            "group.remote.assignor": self.group_remote_assignor,
            "partition.assignment.strategy": word_value(self.assignment_strategy),
            "isolation.level": self.isolation_level.value,
            "fetch.min.bytes": self.fetch_min_bytes,
            "fetch.wait.max.ms": self.fetch_max_wait_ms,
            "fetch.max.bytes": self.fetch_max_bytes,
            "max.partition.fetch.bytes": self.max_partition_fetch_bytes,
            "queued.max.messages.kbytes": kilobytes(self.buffer_memory),
        }
