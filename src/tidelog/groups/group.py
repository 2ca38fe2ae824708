"""What every kind of group answers, so that offsets and listings need not know which kind it is.

A group id names exactly one group object, of one kind.
"""

from enum import Enum
from typing import Protocol

from tidelog.base.ids import TimestampMs
from tidelog.coordination.decision import StateRecord
from tidelog.groups.offsets.messages import CommitRequest
from tidelog.groups.record_formats.offset_commit import CommittedOffset
from tidelog.groups.step import Step


class GroupKind(Enum):
    """As ListGroups spells them; filters compare without case."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    STREAMS = "streams"
    SHARE = "share"


class Group(Protocol):
    id: str

    @property
    def kind(self) -> GroupKind: ...

    @property
    def state_name(self) -> str: ...

    @property
    def protocol_type(self) -> str | None: ...

    @property
    def is_empty(self) -> bool:
        """No members: it lives only for its offsets."""
        ...

    @property
    def is_idle(self) -> bool:
        """No members, and none that was told to come back."""
        ...

    def accept_commit(self, step: Step, request: CommitRequest) -> None:
        """KafkaError unless this member may commit this now; a commit also shows that the member is alive."""
        ...

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """KafkaError unless this member may read the committed offsets."""
        ...

    def check_offset_delete(self) -> None:
        """KafkaError unless single offsets may be deleted."""
        ...

    def check_delete(self) -> None:
        """KafkaError unless the whole group may be deleted."""
        ...

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member reads the topic, as far as can be known."""
        ...

    @property
    def expires_offsets(self) -> bool:
        """Whether offsets of topics without a subscriber may expire in the group's present state."""
        ...

    def unused_since(self, committed: CommittedOffset) -> TimestampMs:
        """From when on the retention of such an offset counts."""
        ...

    def tombstones(self) -> list[StateRecord]:
        """The records that delete the group itself, its offsets apart."""
        ...
