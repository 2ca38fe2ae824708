"""A classic group in memory: its members, who leads them, which protocols they share, who waits for what.

Bookkeeping and checks only; what happens when is decided in `join`, `sync`, `leave`, `expiry` and
`rebalance`. All of this is lost with the coordinator by design: a new one starts from the log.
"""

from collections.abc import Iterable, Mapping

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_TIMESTAMP, TimestampMs
from tidelog.base.invariant import invariant
from tidelog.base.pending import Pending
from tidelog.base.timers import Timer
from tidelog.coordination.decision import StateRecord
from tidelog.groups.classic.member import Member, Protocols
from tidelog.groups.classic.messages import JoinAnswer, JoinedMember, SyncAnswer
from tidelog.groups.classic.states import NEXT, State
from tidelog.groups.classic.votes import ProtocolVotes
from tidelog.groups.consumer_protocol import PROTOCOL_TYPE, subscribed_topics
from tidelog.groups.group import GroupKind
from tidelog.groups.offsets.messages import CommitRequest
from tidelog.groups.record_formats import group_metadata
from tidelog.groups.record_formats.group_metadata import StoredGroup
from tidelog.groups.record_formats.offset_commit import CommittedOffset
from tidelog.groups.step import Step


class ClassicGroup:
    kind = GroupKind.CLASSIC

    def __init__(self, group_id: str, state_timestamp: TimestampMs) -> None:
        self.id = group_id
        self.state = State.EMPTY
        self.previous_state = State.DEAD
        self.state_timestamp = state_timestamp
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.generation = 0
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_ids: dict[str, str] = {}
        """Instance id to the member id that holds it now."""
        self.pending: dict[str, Timer[Step]] = {}
        """Ids that were given out and not used yet, with the timer that takes each back."""
        self.pending_syncs: set[str] = set()
        """Members of this generation that have not asked for their assignment."""
        self.subscribed: frozenset[str] | None = None
        self.joins_waiting = 0
        self.join_timer: Timer[Step]
        self.sync_timer: Timer[Step]
        self.initial_wait_left_ms = 0
        self.member_added_in_initial_wait = False
        self._votes = ProtocolVotes()

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    @property
    def is_idle(self) -> bool:
        return self.state is State.EMPTY and not self.pending

    @property
    def is_initial_rebalance(self) -> bool:
        return self.state is State.PREPARING_REBALANCE and self.previous_state is State.EMPTY

    @property
    def all_joined(self) -> bool:
        return self.joins_waiting == len(self.members) and not self.pending

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def move_to(self, state: State, now_ms: TimestampMs) -> None:
        invariant(state in NEXT[self.state], "illegal group state", group=self.id, at=self.state, to=state)
        self.previous_state, self.state, self.state_timestamp = self.state, state, now_ms

    # --- members

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        if member.instance_id is not None:
            invariant(member.instance_id not in self.static_ids, "an instance twice", group=self.id)
            self.static_ids[member.instance_id] = member.id
        self.members[member.id] = member
        self._votes.add(member.protocols)
        if self.leader is None:
            self.leader = member.id

    def remove(self, member: Member) -> None:
        """Take a member out that waits for nothing any more."""
        invariant(member.join is None and member.sync is None, "a waiting member is removed", group=self.id)
        member.session.cancel()
        del self.members[member.id]
        self._votes.drop(member.protocols)
        if member.instance_id is not None:
            del self.static_ids[member.instance_id]
        if self.leader == member.id:
            self.leader = next(iter(self.members), None)
        self.pending_syncs.discard(member.id)

    def replace(self, old: Member, new: Member) -> None:
        """A static member came back under a new id: it takes the place, the role and the assignment."""
        self.members = {new.id if key == old.id else key: value for key, value in self.members.items()}
        self.members[new.id] = new
        self._votes.drop(old.protocols)
        self._votes.add(new.protocols)
        if new.instance_id is not None:
            self.static_ids[new.instance_id] = new.id
        if self.leader == old.id:
            self.leader = new.id
        if old.id in self.pending_syncs:
            self.pending_syncs.remove(old.id)
            self.pending_syncs.add(new.id)

    def update_protocols(self, member: Member, protocols: Protocols) -> None:
        self._votes.drop(member.protocols)
        member.protocols = protocols
        self._votes.add(protocols)

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is a member that joined; False if none did."""
        if self.leader is None:
            return False
        if self.members[self.leader].join is not None:
            return True
        joined = next((member.id for member in self.members.values() if member.join is not None), None)
        if joined is None:
            return False
        self.leader = joined
        return True

    # --- protocols

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these protocols fits the others."""
        if self.state is State.EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        return protocol_type == self.protocol_type and self._votes.share_one(names, len(self.members))

    def select_protocol(self) -> str:
        return self._votes.winner(self.members.values())

    def next_generation(self, now_ms: TimestampMs) -> None:
        self.generation += 1
        self.pending_syncs.clear()
        self.protocol = self.select_protocol() if self.members else None
        self.refresh_subscribed()
        self.move_to(State.COMPLETING_REBALANCE if self.members else State.EMPTY, now_ms)

    def refresh_subscribed(self) -> None:
        if self.protocol_type != PROTOCOL_TYPE:
            self.subscribed = None
        else:
            self.subscribed = subscribed_topics(
                member.metadata(self.protocol) for member in self.members.values()
            )

    # --- who waits

    def park_join(self, member: Member, pending: Pending[JoinAnswer]) -> None:
        # A retry on another connection: the first request is answered, so that it does not wait for ever.
        self.answer_join(member, JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, member.id))
        member.join = pending
        self.joins_waiting += 1

    def answer_join(self, member: Member, answer: JoinAnswer) -> bool:
        if member.join is None:
            return False
        pending, member.join = member.join, None
        self.joins_waiting -= 1
        pending.resolve(answer)
        return True

    def park_sync(self, member: Member, pending: Pending[SyncAnswer]) -> None:
        self.answer_sync(member, SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync = pending

    def answer_sync(self, member: Member, answer: SyncAnswer) -> bool:
        if member.sync is None:
            return False
        pending, member.sync = member.sync, None
        pending.resolve(answer)
        return True

    def joined_members(self) -> list[JoinedMember]:
        """What the leader needs to make an assignment."""
        return [
            JoinedMember(member.id, member.instance_id, member.metadata(self.protocol))
            for member in self.members.values()
        ]

    def join_answer(self, member: Member, *, skip_assignment: bool = False) -> JoinAnswer:
        return JoinAnswer(
            member_id=member.id,
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=self.leader or "",
            members=self.joined_members() if self.leader == member.id else (),
            skip_assignment=skip_assignment,
        )

    def sync_answer(self, member: Member) -> SyncAnswer:
        return SyncAnswer(ErrorCode.NONE, self.protocol_type, self.protocol, member.assignment)

    # --- what the log holds

    def stored(self, assignments: Mapping[str, bytes]) -> StoredGroup:
        return StoredGroup(
            self.protocol_type or "",
            self.generation,
            self.protocol,
            self.leader,
            self.state_timestamp,
            tuple(
                member.stored(self.protocol, assignments.get(member.id, b""))
                for member in self.members.values()
            ),
        )

    def record(self, assignments: Mapping[str, bytes]) -> StateRecord:
        key = group_metadata.encode_key(self.id)
        return StateRecord(key, group_metadata.encode_value(self.stored(assignments)))

    def tombstones(self) -> list[StateRecord]:
        return [StateRecord(group_metadata.encode_key(self.id), None)]

    # --- what requests about offsets ask

    def find_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member that a request comes from, or the KafkaError it gets."""
        if instance_id is not None:
            holder = self.static_ids.get(instance_id)
            if holder is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if holder != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def accept_commit(self, step: Step, request: CommitRequest) -> None:
        generation = request.generation_id_or_member_epoch
        member_id, instance_id = request.member_id, request.group_instance_id
        if generation < 0 and self.state is State.EMPTY:
            return  # an admin, or a consumer that assigns partitions to itself
        if generation < 0 and not member_id and instance_id is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        member = self.find_member(member_id, instance_id)
        if generation != self.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        if self.state is State.COMPLETING_REBALANCE:
            # Its partitions may be another's by now; with its join answer it knows that it has to sync first.
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        member.restart_session(step)

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        pass  # anybody may read the offsets of a classic group

    def check_offset_delete(self) -> None:
        if self.state is not State.EMPTY and self.protocol_type != PROTOCOL_TYPE:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def check_delete(self) -> None:
        if self.state is not State.EMPTY:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed(self, topic: str) -> bool:
        if self.subscribed is not None:
            return topic in self.subscribed
        return self.protocol_type == PROTOCOL_TYPE and not self.is_empty

    @property
    def expires_offsets(self) -> bool:
        if self.protocol_type is None or self.state is State.EMPTY:
            return True
        return self.state is State.STABLE and self.subscribed is not None

    def unused_since(self, committed: CommittedOffset) -> TimestampMs:
        if (
            self.protocol_type is None
            or self.state is not State.EMPTY
            or self.state_timestamp == NO_TIMESTAMP
        ):
            return committed.commit_timestamp
        return self.state_timestamp
