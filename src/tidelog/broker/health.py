"""Whether this broker lives and whether clients may be sent to it, each as a verdict with its reason.

`Health.of(services)` takes down a few facts, without I/O and at any time after the wiring; the verdicts are
pure. A verdict speaks of this broker alone. A cluster without a controller makes no broker unready: each of
them still serves the partitions that it leads, and a load balancer that took all of them away would turn a
pause into an outage.
"""

from dataclasses import dataclass
from typing import Any

from tidelog.base.ids import NO_EPOCH, NodeId
from tidelog.broker.log_dirs.recovery_progress import RecoveryProgress
from tidelog.broker.requests.context import Services
from tidelog.metadata.brokers.cores import fenced_cores

METADATA_SECONDS_MAX = 10.0
"""How long committed metadata may wait to be applied: opening the logs of a large topic takes seconds."""


@dataclass(frozen=True, slots=True)
class HealthVerdict:
    ok: bool
    reasons: tuple[str, ...] = ()
    """Why not, the first cause first; empty where it is ok."""
    notes: tuple[str, ...] = ()
    """What an operator should know although the verdict does not depend on it."""

    @property
    def reason(self) -> str:
        return "; ".join(self.reasons)

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"ok": self.ok}
        if self.reasons:
            shown["reason"] = self.reason
        if self.notes:
            shown["notes"] = list(self.notes)
        return shown


@dataclass(frozen=True, slots=True)
class Health:
    """The facts. The defaults are those of a broker that serves."""

    node_id: NodeId
    failure: str | None = None
    """Why this broker can no longer take part in its cluster."""
    follows_metadata: bool = True
    """The quorum has a leader, or had one, and this broker has read the metadata once."""
    recovery: RecoveryProgress | None = None
    registered: bool = True
    fenced: bool = False
    heartbeat_age_s: float | None = None
    """Since the controller answered a heartbeat; None before the first answer."""
    session_s: float = 9.0
    has_controller: bool = True
    metadata_wait_s: float = 0.0
    """How long the oldest committed entry has waited to be applied."""
    metadata_stale: bool = False
    """The disk had no room for the metadata, and others may have taken over what this broker does."""
    log_dirs: int = 1
    failed_log_dirs: int = 0
    stopping: bool = False
    cores_away: tuple[NodeId, ...] = ()
    """Brokers of other cores of this machine that the controller hears nothing of."""

    @classmethod
    def of(cls, services: Services, failed_log_dirs: int | None = None) -> "Health":
        """`failed_log_dirs`: their number where the caller knows it, which spares a look at every log."""
        metadata, lifecycle, partitions = services.metadata, services.lifecycle, services.partitions
        now = services.clock.monotonic()
        if not metadata.has_quorum:
            return cls(metadata.node_id, follows_metadata=False)
        failure = failure_of(services)
        me = metadata.image.brokers.get(metadata.node_id)
        waiting_since, heard_at = metadata.waiting_since, lifecycle.heard_at
        return cls(
            metadata.node_id,
            failure=None if failure is None else str(failure),
            follows_metadata=bool(metadata.image.cluster_id),
            recovery=partitions.recovery,
            registered=me is not None and me.epoch == lifecycle.epoch != NO_EPOCH,
            fenced=me is not None and me.fenced,
            heartbeat_age_s=None if heard_at is None else now - heard_at,
            session_s=services.config.int("broker.session.timeout.ms") / 1000,
            has_controller=metadata.controller_id is not None,
            metadata_wait_s=0.0 if waiting_since is None else now - waiting_since,
            metadata_stale=metadata.may_be_stale,
            log_dirs=len(partitions.log_dirs),
            failed_log_dirs=(
                len(partitions.failed_log_dirs()) if failed_log_dirs is None else failed_log_dirs
            ),
            stopping=services.is_stopping,
            cores_away=fenced_cores(services.config, metadata.image.brokers, metadata.node_id),
        )

    def live(self) -> HealthVerdict:
        """False where only a restart helps."""
        return HealthVerdict(self.failure is None, () if self.failure is None else (self.failure,))

    def ready(self) -> HealthVerdict:
        """Whether clients can be sent to this broker."""
        reasons = self._reasons()
        return HealthVerdict(not reasons, reasons, self._notes())

    def machine_ready(self) -> HealthVerdict:
        """Whether all cores of this machine serve, as far as this broker knows. With one core: the same."""
        away = tuple(f"broker {id}, a core of this machine, is fenced" for id in self.cores_away)
        reasons = self._reasons() + away
        return HealthVerdict(not reasons, reasons, self._notes())

    def _reasons(self) -> tuple[str, ...]:
        me = f"broker {self.node_id}"
        if self.failure is not None:
            return (self.failure,)
        if self.stopping:
            return (f"{me} is stopping",)
        if not self.follows_metadata:
            return (f"{me} waits for the metadata of its cluster: a majority of the voters must be up",)
        if self.recovery is not None:
            return (self.recovery.text(),)
        if not self.registered:
            return (f"{me} is not registered with the controller yet",)
        reasons = []
        if self.fenced:
            reasons.append(f"{me} is fenced: the controller misses its heartbeats, or it has just begun")
        elif (
            self.has_controller and self.heartbeat_age_s is not None and self.heartbeat_age_s > self.session_s
        ):
            reasons.append(
                f"the controller has answered no heartbeat of {me} for {self.heartbeat_age_s:.0f} s, "
                f"more than a session of {self.session_s:.0f} s: it may be fenced"
            )
        if self.metadata_stale:
            reasons.append(
                f"the metadata of {me} may be stale: its disk had no room for more; free space there"
            )
        elif self.metadata_wait_s > METADATA_SECONDS_MAX:
            reasons.append(f"{me} has committed metadata to apply since {self.metadata_wait_s:.0f} s")
        if self.failed_log_dirs >= self.log_dirs:
            reasons.append(f"every log dir of {me} has failed")
        return tuple(reasons)

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.follows_metadata and not self.has_controller:
            notes.append("no controller is known: topics and leaders cannot change")
        if 0 < self.failed_log_dirs < self.log_dirs:
            notes.append(f"{self.failed_log_dirs} of {self.log_dirs} log dirs failed")
        return tuple(notes)


def failure_of(services: Services) -> Exception | None:
    """Why this broker can no longer take part in its cluster and should be stopped; None if it can.

    A single broker goes on with what still works: there is no other to take over from it.
    """
    if len(services.metadata.image.brokers) < 2:
        return None
    return services.metadata.failure or services.lifecycle.failure
