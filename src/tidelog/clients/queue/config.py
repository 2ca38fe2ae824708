"""The configuration of a queue: its group, how many jobs it holds at once, and how long it keeps them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.clients.client_config import ClientConfig, refuse_if
from tidelog.clients.errors import ConfigurationError
from tidelog.clients.options import OffsetResetPolicy

if TYPE_CHECKING:
    from tidelog.blocking.settings import ClusterSettings


@dataclass(frozen=True, kw_only=True)
class QueueConfig(ClientConfig):
    """How a `Queue` takes jobs, and what it does with those that it holds.

    Example:
        from tidelog import Queue, QueueConfig

        config = QueueConfig(bootstrap_servers=["localhost:9092"], group_id="mailers", prefetch=50)
        with Queue("mails", config) as mails:
            mails.send("Hello")

    Attributes:
        group_id: The share group. Each job goes to one of the workers with the same group; groups with
            different names get every job each. None: the name of the topic.
        prefetch: How many jobs the client holds at most: those that wait in its buffer, no more than the
            application has taken in a row, and those that the application has. 1 is fairest where jobs are
            long, hundreds are fastest where they are short.
        auto_extend_ms: How long the client extends the lock of a job that the application has, so that
            other workers do not get it meanwhile; counted from the moment at which it was taken. 0: the
            lock ends after the group's `share.record.lock.duration.ms`, unless `Job.extend` is called.
        ack_linger_ms: How long an acknowledgement may wait for others, if no fetch takes it along before.
        auto_offset_reset: Where a new group begins: `EARLIEST` with the jobs that are there, `LATEST` with
            those sent from then on. The client sets `share.auto.offset.reset` of a group that has no value
            of its own. None: leave that to the brokers.
    """

    group_id: str | None = None
    prefetch: int = 10
    auto_extend_ms: int = 1_800_000
    ack_linger_ms: int = 5
    auto_offset_reset: OffsetResetPolicy | str | None = OffsetResetPolicy.EARLIEST

    def _check(self) -> None:
        self._between("prefetch", 1, 100_000)
        self._between("auto_extend_ms", 0)
        self._between("ack_linger_ms", 0, 10_000)
        self._word("auto_offset_reset", OffsetResetPolicy)
        refuse_if(
            self.auto_offset_reset is OffsetResetPolicy.NONE,
            "auto_offset_reset=NONE is for consumers.",
            "use EARLIEST or LATEST, or None to leave it to the brokers.",
        )
        refuse_if(self.group_id == "", "group_id is empty.", "leave it out, or name the group.")

    def for_producer(self) -> dict[str, Any]:
        """The same brokers and `extra`, for the producer that sends jobs."""
        return {
            "bootstrap_servers": self.bootstrap_servers,
            "client_id": self.client_id,
            "request_timeout_ms": self.request_timeout_ms,
            "extra": dict(self.extra),
        }

    def for_members(self) -> "ClusterSettings":
        """How the member of the share group, which is our own client, reaches the cluster."""
        from tidelog.blocking.attempts import Limits
        from tidelog.blocking.errors import SecurityError
        from tidelog.blocking.security_options import protocol_of, security_of
        from tidelog.blocking.settings import ClusterSettings

        given = {name: str(value) for name, value in self.extra.items()}
        timeout_s = self.request_timeout_ms / 1000
        try:
            security = None if protocol_of(given) == "PLAINTEXT" else security_of(given)
        except SecurityError as error:
            raise ConfigurationError(
                f"A queue cannot use these security settings: {error}.",
                cause="librdkafka knows more of them than a queue, which speaks the protocol itself.",
            ) from error
        return ClusterSettings(
            tuple(self.bootstrap_servers),
            security,
            Limits(connect_s=min(10.0, timeout_s), request_s=timeout_s, total_s=timeout_s),
            self.client_id,
        )
