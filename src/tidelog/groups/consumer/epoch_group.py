"""What groups with epochs have in common: members, a target for each, and what each holds on the way there.

The coordinator hands out partitions of something: of topics (KIP-848), or of the parts of a streams topology
(KIP-1071). Everything here is durable: it is exactly what the records say.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, Self, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs
from tidelog.coordination.decision import StateRecord
from tidelog.groups.consumer.states import GroupState
from tidelog.groups.record_formats.assignment import Parts, PartT
from tidelog.groups.record_formats.group_key import encode_key
from tidelog.groups.record_formats.holding import Holding, MemberState
from tidelog.groups.record_formats.offset_commit import CommittedOffset

MemberT = TypeVar("MemberT")

NEW_MEMBER: Holding[Any] = Holding()
NOTHING: Parts[Any] = {}


class Records(NamedTuple, Generic[MemberT, PartT]):
    """The records that every kind of such group has: the versions of their keys, and how to write them."""

    group: int
    member: int
    target: int
    target_of_member: int
    holding: int
    encode_member: Callable[[MemberT], bytes]
    decode_member: Callable[[bytes], MemberT]
    encode_target: Callable[[Parts[PartT]], bytes]
    decode_target: Callable[[bytes], Parts[PartT]]
    encode_holding: Callable[[Holding[PartT]], bytes]
    decode_holding: Callable[[bytes], Holding[PartT]]


class EpochGroup(Generic[MemberT, PartT]):
    records: Records[MemberT, PartT]

    def __init__(self, group_id: str) -> None:
        self.id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.target_epoch = 0
        self.assigned_ms: TimestampMs = 0
        """When the target was made; 0 where the next one may be made at once."""
        self.members: dict[str, MemberT] = {}
        self.targets: dict[str, Parts[PartT]] = {}
        self.holdings: dict[str, Holding[PartT]] = {}
        self.owners: dict[tuple[PartT, int], frozenset[str]] = {}
        """Partition to the members that may be using it: assigned to them, or not yet let go."""

    def copy(self) -> Self:
        """Its own for writing; what it holds is immutable and shared."""
        twin = type(self)(self.id)
        for name, value in vars(self).items():
            setattr(twin, name, value.copy() if isinstance(value, dict) else value)
        return twin

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    # --- the changes that records make

    def put_member(self, member_id: str, member: MemberT) -> None:
        self.members[member_id] = member

    def remove_member(self, member_id: str) -> None:
        self.members.pop(member_id, None)

    def put_holding(self, member_id: str, holding: Holding[PartT]) -> None:
        self.remove_holding(member_id)
        self.holdings[member_id] = holding
        owners, alone = self.owners, frozenset((member_id,))
        for part in _used(holding):
            others = owners.get(part)
            owners[part] = alone if others is None else others | alone

    def remove_holding(self, member_id: str) -> None:
        holding: Holding[PartT] = self.holdings.pop(member_id, NEW_MEMBER)
        owners, alone = self.owners, frozenset((member_id,))
        for part in _used(holding):
            if left := owners[part] - alone:
                owners[part] = left
            else:
                del owners[part]

    def replay(self, key: int, name: str, value: bytes | None) -> None:
        """Make a record true that is about one of the members."""
        records = self.records
        if key == records.member:
            if value is None:
                self.remove_member(name)
            else:
                self.put_member(name, records.decode_member(value))
        elif key == records.target_of_member:
            if value is None:
                self.targets.pop(name, None)
            else:
                self.targets[name] = records.decode_target(value)
        elif key == records.holding:
            if value is None:
                self.remove_holding(name)
            else:
                self.put_holding(name, records.decode_holding(value))

    # --- what follows from them

    def holding(self, member_id: str) -> Holding[PartT]:
        return self.holdings.get(member_id, NEW_MEMBER)

    def target(self, member_id: str) -> Parts[PartT]:
        return self.targets.get(member_id, NOTHING)

    def find_member(self, member_id: str, instance_id: str | None = None) -> MemberT:
        """The member that a request comes from, or the KafkaError it gets."""
        member = self.members.get(member_id)
        if member is None:
            unknown = f"Member {member_id} is not a member of group {self.id}."
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, unknown)
        return member

    def wait_ms(self, now_ms: TimestampMs, interval_ms: int) -> int:
        """Returns how long the next target has to wait. `now_ms` is of the wall clock, since another
        coordinator may have made the last one. A clock that was set back stops nothing."""
        passed_ms = now_ms - self.assigned_ms
        return interval_ms - passed_ms if self.assigned_ms and 0 <= passed_ms < interval_ms else 0

    def is_reconciled(self, member_id: str) -> bool:
        holding = self.holding(member_id)
        return holding.state is MemberState.STABLE and holding.epoch == self.target_epoch

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        return GroupState.STABLE if all(map(self.is_reconciled, self.members)) else GroupState.RECONCILING

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def is_idle(self) -> bool:
        return not self.members

    # --- what requests about offsets ask

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return  # an admin, or a client of a version that has no such fields
        member = self.find_member(member_id or "")
        if member_epoch != self.holding(member_id or "").epoch:
            raise self.stale_epoch(member)

    def stale_epoch(self, member: MemberT) -> KafkaError:
        """The error for a member that comes with another epoch than its own."""
        return KafkaError(ErrorCode.STALE_MEMBER_EPOCH)

    def check_offset_delete(self) -> None:
        pass  # topics that a member reads are refused one by one

    def check_delete(self) -> None:
        if self.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    @property
    def expires_offsets(self) -> bool:
        return True

    def unused_since(self, committed: CommittedOffset) -> TimestampMs:
        return committed.commit_timestamp

    def member_tombstones(self) -> list[StateRecord]:
        """Members first: a group without its own record must not have any."""
        return [
            *self.tombstones_of(self.records.holding, self.holdings),
            *self.tombstones_of(self.records.target_of_member, self.targets),
            StateRecord(encode_key(self.records.target, self.id), None),
            *self.tombstones_of(self.records.member, self.members),
        ]

    def tombstones_of(self, key: int, names: Iterable[str]) -> list[StateRecord]:
        return [StateRecord(encode_key(key, self.id, name), None) for name in names]


def _used(holding: Holding[PartT]) -> Iterable[tuple[PartT, int]]:
    """Without repetition, whatever a record says: what is assigned, and what is yet to be let go."""
    seen = {(key, number) for key, numbers in holding.assigned.items() for number in numbers}
    if holding.revoking:
        seen.update((key, number) for key, numbers in holding.revoking.items() for number in numbers)
    return seen
