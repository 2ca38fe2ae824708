"""A job as the client holds it: a record, its lock at the broker, and what became of it."""

from enum import IntEnum
from typing import TYPE_CHECKING

from tidelog.shares.states import AckType
from tidelog.wire.record_body import Record

if TYPE_CHECKING:
    from tidelog.clients.queue.session import BrokerSession


class JobState(IntEnum):
    HELD = 0
    ACKNOWLEDGED = 1
    """The application has said what becomes of it; the broker has not answered."""
    CONFIRMED = 2
    LOST = 3
    """The broker has given it to another worker, or will."""


class HeldJob:
    __slots__ = (
        "deadline",
        "delivery_count",
        "extend_until",
        "fate",
        "is_log_append_time",
        "is_out",
        "loss",
        "partition",
        "record",
        "session",
        "state",
    )

    def __init__(
        self,
        session: "BrokerSession",
        partition: int,
        record: Record,
        delivery_count: int,
        deadline: float,
    ) -> None:
        self.session = session
        self.partition = partition
        self.record = record
        self.delivery_count = delivery_count
        self.deadline = deadline
        """When the lock ends, on the monotonic clock."""
        self.is_log_append_time = False
        self.extend_until = 0.0
        """Until when the client extends the lock of a job that the application has."""
        self.is_out = False
        """Whether the application has it; it waits in the client's buffer otherwise."""
        self.state = JobState.HELD
        self.loss = ""
        """Why it is lost, as a sentence."""
        self.fate = AckType.GAP
        """What the application has said."""


FATES = {
    AckType.ACCEPT: "is done",
    AckType.RELEASE: "is given back",
    AckType.REJECT: "is given up",
}


def fate(job: HeldJob) -> str:
    """What the log says of a job whose handler has ended."""
    return FATES.get(job.fate, "is no longer this worker's")
