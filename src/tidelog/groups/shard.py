"""All groups and offsets of one partition of `__consumer_offsets`: the one door to this room.

The runtime drives it as every shard, see `tidelog.coordination.shard`. `commit` alone may run between a
decision and its `apply`: the records of many commits share a batch, since no commit depends on another.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_PRODUCER, Offset, ProducerId, TimestampMs, Uuid
from tidelog.base.pending import Pending
from tidelog.base.ports import Random
from tidelog.coordination.decision import ShardDecision
from tidelog.groups import listing
from tidelog.groups.classic import describe, heartbeat, join, leave, lifecycle, sync
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.messages import (
    NO_MEMBER,
    DescribedGroup,
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeavingMember,
    LeftMember,
    SyncAnswer,
    SyncRequest,
)
from tidelog.groups.classic.states import State
from tidelog.groups.consumer import describe as consumer_describe
from tidelog.groups.consumer import requests as consumer_requests
from tidelog.groups.consumer.draft import Draft
from tidelog.groups.consumer.epoch_group import EpochGroup
from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.consumer.leave import remove as remove_consumer
from tidelog.groups.consumer.member_timers import Wait
from tidelog.groups.consumer.messages import DescribedConsumerGroup, HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.consumer.room import AnyGroup, ConsumerRoom
from tidelog.groups.consumer.topics import TopicInfo, Topics
from tidelog.groups.counters import GroupCounters
from tidelog.groups.durable import Change, DurableState
from tidelog.groups.offsets import commit as offset_commit
from tidelog.groups.offsets import delete as offset_delete
from tidelog.groups.offsets import fetch as offset_fetch
from tidelog.groups.offsets import transactional_commit
from tidelog.groups.offsets.commit import CommitAnswer
from tidelog.groups.offsets.expiry import OffsetSweep
from tidelog.groups.offsets.messages import (
    CommitRequest,
    DeletedGroup,
    DeleteOffsetsAnswer,
    DeleteTopic,
    FetchedGroup,
    FetchGroup,
    ListedGroup,
)
from tidelog.groups.offsets.transactional_commit import TransactionalCommit
from tidelog.groups.settings import GroupSettings
from tidelog.groups.share import describe as share_describe
from tidelog.groups.share import offset_requests as share_offsets
from tidelog.groups.share.draft import Draft as ShareDraft
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.share.leave import remove as remove_share_member
from tidelog.groups.share.messages import DescribedShareGroup, StatesToDelete
from tidelog.groups.share.messages import HeartbeatAnswer as ShareAnswer
from tidelog.groups.share.messages import HeartbeatRequest as ShareHeartbeat
from tidelog.groups.share.offsets import AlterAnswer, DeleteAnswer
from tidelog.groups.share.requests import share_heartbeat
from tidelog.groups.share.room import ShareRoom
from tidelog.groups.share.states import Partitions
from tidelog.groups.step import Context, Step
from tidelog.groups.streams import describe as streams_describe
from tidelog.groups.streams.draft import Draft as StreamsDraft
from tidelog.groups.streams.group import StreamsGroup
from tidelog.groups.streams.leave import remove as remove_streams_member
from tidelog.groups.streams.messages import DescribedStreamsGroup
from tidelog.groups.streams.messages import HeartbeatAnswer as StreamsAnswer
from tidelog.groups.streams.messages import HeartbeatRequest as StreamsHeartbeat
from tidelog.groups.streams.requests import streams_heartbeat
from tidelog.groups.streams.room import StreamsRoom


class GroupShard:
    def __init__(
        self, settings: GroupSettings, random: Random, counters: GroupCounters | None = None
    ) -> None:
        self.durable = DurableState()
        self.groups: dict[str, AnyGroup] = {}
        self._room = ConsumerRoom(self.groups, self._on_timeout)
        self._streams = StreamsRoom(self._room)
        self._shares = ShareRoom(self._room)
        self._counters = counters or GroupCounters()
        self._context = Context(settings, random, self._forget, counters=self._counters)
        self._sweep = OffsetSweep(self._context, self.durable, self.groups)
        self._is_live = False

    # --- state that survives

    def replay(
        self,
        key: bytes,
        value: bytes | None,
        now_ms: TimestampMs = -1,
        producer_id: ProducerId = NO_PRODUCER,
    ) -> None:
        """Apply one record: while loading, and live right after the append.

        `producer_id` is that of the transaction that the record is part of.
        """
        replayed = self.durable.replay(key, value, producer_id)
        if not self._is_live or replayed is None:
            return
        change, group_id, group = replayed
        if change in (Change.OFFSET, Change.PENDING_OFFSET):
            self._counters.offset_commits += 1
            if group_id not in self.groups:
                # Commits without a group make a simple one: empty and without a protocol.
                self.groups[group_id] = lifecycle.new_group(self._context, group_id, now_ms)
        elif change is Change.GROUP and group_id not in self.groups:
            stored = self.durable.classic_groups[group_id]
            self.groups[group_id] = lifecycle.load_group(self._context, group_id, stored)
        elif group is not None and group_id not in self.groups:
            self.groups[group_id] = group
        elif change is Change.GROUP_GONE and isinstance(was := self.groups.get(group_id), ClassicGroup):
            del self.groups[group_id]
            lifecycle.end_group(was, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif change is Change.EPOCH_GROUP_GONE and isinstance(self.groups.get(group_id), EpochGroup):
            del self.groups[group_id]
            self._room.forget(group_id)
            self._streams.forget(group_id)
            self._shares.forget(group_id)

    def end_transaction(self, producer_id: ProducerId, commit: bool) -> None:
        """A transaction marker is in the log: while loading, and live right after the append."""
        self.durable.end_transaction(producer_id, commit)

    def on_loaded(self, now: float, now_ms: TimestampMs) -> list[ShardDecision[None]]:
        """The whole partition was replayed: serve requests and start sessions from here on."""
        step = self._step(now, now_ms)
        self.groups.update(self.durable.consumer_groups)
        self.groups.update(self.durable.streams_groups)
        self.groups.update(self.durable.share_groups)
        for group_id, stored in self.durable.classic_groups.items():
            if group_id not in self.groups or self.groups[group_id].is_empty:
                self.groups[group_id] = lifecycle.load_group(self._context, group_id, stored)
        for group_id in (*self.durable.offsets.group_ids(), *self.durable.pending.group_ids()):
            if group_id not in self.groups:
                self.groups[group_id] = lifecycle.new_group(self._context, group_id, now_ms)
        for group in self.groups.values():
            if isinstance(group, ClassicGroup):
                lifecycle.start_sessions(step, group)
        self._room.on_loaded(step)
        self._streams.on_loaded(step)
        self._shares.on_loaded(step)
        self._sweep.start(step)
        self._is_live = True
        return [_effect(step)] if step.records else []

    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """This broker no longer leads the partition: answer all members that wait. The last call."""
        for group in self.groups.values():
            if isinstance(group, ClassicGroup):
                lifecycle.end_group(group, error)
        self.groups.clear()
        self._room.timers.drop_all()
        self._streams.drop_all()
        self._shares.drop_all()
        self._sweep.timer.cancel()
        self._is_live = False

    def apply(self, decision: ShardDecision[Any], now: float, now_ms: TimestampMs) -> None:
        """The records of the decision were appended."""
        producer_id = NO_PRODUCER if decision.writer is None else decision.writer.producer_id
        for key, value in decision.records:
            self.replay(key, value, now_ms, producer_id)

    # --- time

    @property
    def next_deadline(self) -> float | None:
        """When `tick` has to run next, on the monotonic clock."""
        return self._context.timers.next_deadline

    def tick(self, now: float, now_ms: TimestampMs) -> ShardDecision[None] | None:
        """Returns the next decision whose time has come; to be written before the next call."""
        while (timer := self._context.timers.pop_due(now)) is not None:
            step = self._step(now, now_ms)
            timer.action(step)
            if step.records:
                return _effect(step)
        return None

    def take_notes(self) -> list[str]:
        """Returns lines for the broker's log since the last call."""
        notes = list(self._context.notes)
        self._context.notes.clear()
        return notes

    def configure(self, settings: GroupSettings) -> None:
        self._context.settings = settings

    # --- classic groups

    def join(self, request: JoinRequest, now: float, now_ms: TimestampMs) -> ShardDecision[JoinAnswer]:
        try:
            request = join.checked(request, self._context.settings)
        except KafkaError as refusal:
            return ShardDecision(Pending.ready(JoinAnswer(refusal.code, request.member_id)))
        step = self._step(now, now_ms)
        group = self.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup) and group.members:
            return consumer_requests.classic_join(step, self._room, group, request)
        if (isinstance(group, StreamsGroup) and group.members) or isinstance(group, ShareGroup):
            wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            return ShardDecision(Pending.ready(JoinAnswer(wrong, request.member_id)))
        if not isinstance(group, ClassicGroup):
            if request.member_id != NO_MEMBER:
                return ShardDecision(
                    Pending.ready(JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
                )
            if group is not None:  # an empty one of another kind gives way; its offsets stay
                step.records.extend(group.tombstones())
            group = lifecycle.new_group(self._context, request.group_id, now_ms)
            self.groups[request.group_id] = group
        pending = join.join(step, group, request)
        step.forget(group.id)
        return step.decision(pending)

    def sync(self, request: SyncRequest, now: float, now_ms: TimestampMs) -> ShardDecision[SyncAnswer]:
        if not request.group_id:
            return ShardDecision.of(SyncAnswer(ErrorCode.INVALID_GROUP_ID), SyncAnswer)
        group = self._for_joined(request.group_id)
        if group is None:
            return ShardDecision.of(SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID), SyncAnswer)
        step = self._step(now, now_ms)
        if isinstance(group, ConsumerGroup):
            return consumer_requests.classic_sync(step, self._room, group, request)
        return sync.sync(step, group, request)

    def heartbeat(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        generation: int,
        now: float,
        *,
        now_ms: TimestampMs,
    ) -> ErrorCode:
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._for_joined(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        step = self._step(now, now_ms)
        if isinstance(group, ConsumerGroup):
            who = LeavingMember(member_id, instance_id)
            return consumer_requests.classic_heartbeat(step, self._room, group, who, generation)
        return heartbeat.heartbeat(step, group, member_id, instance_id, generation)

    def leave(
        self, group_id: str, members: Sequence[LeavingMember], now: float, now_ms: TimestampMs
    ) -> ShardDecision[LeaveAnswer]:
        if not group_id:
            return ShardDecision(Pending.ready(LeaveAnswer(ErrorCode.INVALID_GROUP_ID)))
        group = self._for_joined(group_id)
        if group is None:
            strangers = [LeftMember(*who[:2], ErrorCode.UNKNOWN_MEMBER_ID) for who in members]
            return ShardDecision(Pending.ready(LeaveAnswer(members=strangers)))
        step = self._step(now, now_ms)
        if isinstance(group, ConsumerGroup):
            return consumer_requests.classic_leave(step, self._room, group, members)
        return leave.leave(step, group, members)

    def describe(self, group_id: str) -> DescribedGroup:
        group = self.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            return DescribedGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, group_state=State.DEAD.value)
        return describe.describe(group)

    def _for_joined(self, group_id: str) -> ClassicGroup | ConsumerGroup | None:
        """The group where members may be that came by JoinGroup."""
        group = self.groups.get(group_id)
        return None if isinstance(group, StreamsGroup | ShareGroup) else group

    # --- groups with epochs

    def consumer_heartbeat(
        self, request: HeartbeatRequest, now: float, now_ms: TimestampMs
    ) -> ShardDecision[HeartbeatAnswer]:
        return consumer_requests.consumer_heartbeat(self._step(now, now_ms), self._room, request)

    def consumer_describe(self, group_id: str) -> DescribedConsumerGroup:
        default = self._context.settings.consumer_assignors[0]
        return consumer_describe.describe(group_id, self.groups.get(group_id), self._room.topics, default)

    def streams_heartbeat(
        self, request: StreamsHeartbeat, now: float, now_ms: TimestampMs
    ) -> ShardDecision[StreamsAnswer]:
        return streams_heartbeat(self._step(now, now_ms), self._streams, request)

    def streams_describe(self, group_id: str) -> DescribedStreamsGroup:
        return streams_describe.describe(group_id, self.groups.get(group_id), self._streams)

    def share_heartbeat(
        self, request: ShareHeartbeat, now: float, now_ms: TimestampMs
    ) -> ShardDecision[ShareAnswer]:
        return share_heartbeat(self._step(now, now_ms), self._shares, request)

    def share_states_made(
        self, group_id: str, made: Partitions, failed: Partitions, now: float, now_ms: TimestampMs
    ) -> ShardDecision[ErrorCode]:
        """The persister initialized the state of partitions, or failed to."""
        return share_offsets.end_making(self._step(now, now_ms), self._shares, group_id, made, failed)

    def alter_share_offsets(
        self, group_id: str, wanted: Mapping[str, Mapping[int, Offset]], now: float, now_ms: TimestampMs
    ) -> ShardDecision[AlterAnswer]:
        return share_offsets.alter(self._step(now, now_ms), self._shares, group_id, wanted)

    def delete_share_offsets(
        self, group_id: str, topics: Sequence[str], now: float, now_ms: TimestampMs
    ) -> ShardDecision[DeleteAnswer]:
        """Before the persister deletes the state of these topics."""
        return share_offsets.begin_deletion(self._step(now, now_ms), self._shares, group_id, topics)

    def delete_share_states(
        self, group_id: str, now: float, now_ms: TimestampMs
    ) -> ShardDecision[DeleteAnswer]:
        """Before the persister deletes all state of the group, which goes after it."""
        return share_offsets.begin_deletion_of_all(self._step(now, now_ms), self._shares, group_id)

    def share_states_deleted(
        self, group_id: str, topics: Collection[Uuid], now: float, now_ms: TimestampMs
    ) -> ShardDecision[ErrorCode]:
        return share_offsets.end_deletion(self._step(now, now_ms), self._shares, group_id, topics)

    def share_states_to_delete(self) -> list[StatesToDelete]:
        """What an earlier coordinator began to delete, and may not have."""
        return share_offsets.still_deleting(self._shares)

    def drop_share_topics(
        self, topics: Collection[Uuid], now: float, now_ms: TimestampMs
    ) -> list[ShardDecision[None]]:
        """Topics are gone: so is the share state that groups had there."""
        dropped = share_offsets.drop_topics(self._step(now, now_ms), self._shares, topics)
        return [] if dropped is None else [dropped]

    def share_describe(self, group_id: str) -> DescribedShareGroup:
        return share_describe.describe(group_id, self.groups.get(group_id), self._room.topics)

    def on_topics_changed(self, topics: Topics | Mapping[str, TopicInfo], version: int = 0) -> None:
        """All topics as they are now; groups that read what changed rebalance with their next heartbeats.

        Until the first call, heartbeats of the new protocol get COORDINATOR_LOAD_IN_PROGRESS.
        """
        self._room.on_topics_changed(topics if isinstance(topics, Topics) else Topics(topics, version))

    def on_permissions_changed(self) -> None:
        """Members may see other topics now: the next heartbeat of each group selects them anew."""
        self._room.on_permissions_changed()

    # --- offsets, and groups of any kind

    def commit(self, request: CommitRequest, now: float, now_ms: TimestampMs) -> ShardDecision[CommitAnswer]:
        return offset_commit.commit(self._step(now, now_ms), self.groups.get(request.group_id), request)

    def commit_in_transaction(
        self, request: TransactionalCommit, now: float, now_ms: TimestampMs
    ) -> ShardDecision[CommitAnswer]:
        """Its records go into a transactional batch of `decision.writer`; whether that may, the log says."""
        group = self.groups.get(request.commit.group_id)
        return transactional_commit.commit(self._step(now, now_ms), group, request)

    def fetch(self, request: FetchGroup, *, require_stable: bool = False) -> FetchedGroup:
        group = self.groups.get(request.group_id)
        is_unstable = self.durable.pending.holds if require_stable else None
        return offset_fetch.fetch(self.durable.offsets, group, request, is_unstable)

    def delete_offsets(
        self, group_id: str, topics: Sequence[DeleteTopic], now: float, now_ms: TimestampMs
    ) -> ShardDecision[DeleteOffsetsAnswer]:
        group = self.groups.get(group_id)
        return offset_delete.delete_offsets(self._step(now, now_ms), self.durable, group, topics)

    def delete_groups(
        self, group_ids: Sequence[str], now: float, now_ms: TimestampMs
    ) -> ShardDecision[list[DeletedGroup]]:
        step = self._step(now, now_ms)
        results = [
            offset_delete.delete_group(step, self.durable, group_id, self.groups.get(group_id))
            for group_id in dict.fromkeys(group_ids)
        ]

        def refused(error: ErrorCode) -> list[DeletedGroup]:
            return [one if one.error else DeletedGroup(one.group_id, error) for one in results]

        return step.answer(results, refused)

    def delete_topics(
        self, topics: Collection[str], now: float, now_ms: TimestampMs
    ) -> list[ShardDecision[None]]:
        """Topics are gone: so are the offsets that groups committed for them."""
        step = self._step(now, now_ms)
        offset_delete.delete_topics(step, self.durable, topics)
        return [_effect(step)] if step.records else []

    def list_groups(self, states: Collection[str] = (), types: Collection[str] = ()) -> list[ListedGroup]:
        return listing.list_groups(self.groups.values(), states, types)

    def _step(self, now: float, now_ms: TimestampMs) -> Step:
        return Step(self._context, now, now_ms)

    def _on_timeout(self, step: Step, group_id: str, member_id: str, wait: Wait) -> None:
        group = self._room.overdue(group_id, member_id, wait)
        if isinstance(group, ConsumerGroup):
            remove_consumer(Draft(step, group), self._room, member_id, wait.value)
        elif isinstance(group, StreamsGroup):
            remove_streams_member(StreamsDraft(step, group), self._streams, member_id, wait.value)
        elif isinstance(group, ShareGroup):
            remove_share_member(ShareDraft(step, group), self._shares, member_id, wait.value)

    def _forget(self, group_id: str) -> None:
        """One that never had a generation: any other keeps counting, until the sweep deletes it for good."""
        group = self.groups.get(group_id)
        if (
            isinstance(group, ClassicGroup)
            and group.is_idle
            and group.generation == 0
            and group_id not in self.durable.classic_groups
            and not self.durable.offsets.of_group(group_id)
            and not self.durable.pending.of_group(group_id)
        ):
            del self.groups[group_id]


def _effect(step: Step) -> ShardDecision[None]:
    """A decision that no client waits for."""
    return step.decision(Pending.ready(None))
