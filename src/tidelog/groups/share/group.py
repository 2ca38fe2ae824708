"""A share group: exactly what its records say, and what follows from that. Decisions work on a `Draft`."""

from collections import Counter
from collections.abc import Iterable, KeysView

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid
from tidelog.coordination.decision import StateRecord
from tidelog.groups.consumer.epoch_group import EpochGroup, Records
from tidelog.groups.consumer.states import GroupState
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.group import GroupKind
from tidelog.groups.offsets.messages import CommitRequest
from tidelog.groups.record_formats import share_group as formats
from tidelog.groups.record_formats.group_key import encode_key
from tidelog.groups.record_formats.share_group import (
    Key,
    ShareEpoch,
    ShareSubscription,
    ShareTarget,
    StoredStates,
)
from tidelog.groups.share.states import NO_STATES
from tidelog.groups.step import Step

NO_MEMBER = ShareSubscription()


class ShareGroup(EpochGroup[ShareSubscription, Uuid]):
    kind = GroupKind.SHARE
    protocol_type = "share"
    records = Records(
        Key.GROUP,
        Key.MEMBER,
        Key.TARGET,
        Key.TARGET_OF_MEMBER,
        Key.HOLDING,
        formats.encode_member,
        formats.decode_member,
        formats.encode_target,
        formats.decode_target,
        formats.encode_holding,
        formats.decode_holding,
    )

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.states: StoredStates = NO_STATES
        self._reading: Counter[str] = Counter()  # topic name to how many members name it

    def put_epoch(self, value: ShareEpoch) -> None:
        self.epoch, self.metadata_hash = value

    def put_target_epoch(self, value: ShareTarget) -> None:
        self.target_epoch, self.assigned_ms = value

    def put_member(self, member_id: str, member: ShareSubscription) -> None:
        self._uncount(member_id)
        super().put_member(member_id, member)
        self._reading.update(member.topic_names)

    def remove_member(self, member_id: str) -> None:
        self._uncount(member_id)
        super().remove_member(member_id)

    def _uncount(self, member_id: str) -> None:
        names = self.members.get(member_id, NO_MEMBER).topic_names
        self._reading.subtract(names)
        for name in names:
            if not self._reading[name]:
                del self._reading[name]

    # --- what follows from them

    def all_topic_names(self) -> KeysView[str]:
        """A view of them: there may be many."""
        return self._reading.keys()

    def topics_read(self, topics: Topics) -> set[str]:
        """The names of the topics that members read, of those that exist: members may name any number."""
        return topics.by_name.keys() & self._reading.keys()

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members read the same topics."""
        return all(readers == len(self.members) for readers in self._reading.values())

    @property
    def state(self) -> GroupState:
        """Members take partitions without waiting for each other, so nothing is ever under way."""
        return GroupState.STABLE if self.members else GroupState.EMPTY

    @property
    def is_idle(self) -> bool:
        """It remembers in the share state how far it is, for as long as it is not deleted."""
        return False

    # --- what requests about offsets ask

    def accept_commit(self, _step: Step, _request: CommitRequest) -> None:
        raise self._no_offsets()

    def check_fetch(self, _member_id: str | None, _member_epoch: int) -> None:
        pass  # as in a group that committed nothing

    def check_offset_delete(self) -> None:
        raise self._no_offsets()

    def _no_offsets(self) -> KafkaError:
        return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.id} is not a consumer group.")

    def is_subscribed(self, topic: str) -> bool:
        return topic in self._reading

    def tombstones(self) -> list[StateRecord]:
        own: Iterable[Key] = (Key.STATES, Key.GROUP)
        return [*self.member_tombstones(), *(StateRecord(encode_key(key, self.id), None) for key in own)]
