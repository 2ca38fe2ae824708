"""Consumers that join, sync, commit, leave, fall silent and crash, on coordinators that fail over.

The model is plain: what each consumer was told, who owns a partition in a generation, and the last offset
written for each partition. Commits can be held back, appends refused, and records lost at a failover.
"""

import random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.rigs.shard_log import ShardLog
from tidelog.base.errors import ErrorCode as E
from tidelog.groups.classic.messages import JoinRequest, LeavingMember, SyncRequest
from tidelog.groups.classic.states import State
from tidelog.groups.offsets.messages import (
    CommitPartition,
    CommitRequest,
    CommitTopic,
    FetchGroup,
    FetchTopic,
)
from tidelog.groups.settings import GroupSettings
from tidelog.groups.shard import GroupShard

PARTITIONS = 6
WHO = st.integers(0, 5)
SETTINGS = GroupSettings(members_max=5, offsets_retention_check_interval_ms=10**12)


class SeededRandom(random.Random):
    def bytes(self, count: int) -> bytes:
        return self.randbytes(count)

    def below(self, limit: int) -> int:
        return self.randrange(limit)


class Consumer:
    """As a client library behaves: what it knows, and what it does next."""

    def __init__(self, name: int, instance: str | None, api_version: int) -> None:
        self.name, self.instance, self.api_version = name, instance, api_version
        self.reset()

    def reset(self) -> None:
        self.id, self.generation, self.leads, self.others = "", -1, False, ()
        self.joined = self.synced = False
        self.waiting: Any = None

    def heard(self, error: E) -> None:
        if error in (E.UNKNOWN_MEMBER_ID, E.FENCED_INSTANCE_ID):
            self.reset()
        elif error in (E.REBALANCE_IN_PROGRESS, E.ILLEGAL_GENERATION):
            self.joined = self.synced = False


class ClassicGroups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.random = SeededRandom(7)
        self.now = 100.0
        self.log: ShardLog[GroupShard] = ShardLog(lambda: (self.now, self.now_ms))
        self.living: list[Consumer] = []
        self.count = 0
        self.written: dict[int, int] = {}  # partition to the last offset that the log holds
        self.offset = 0
        self.members_of: dict[tuple[int, int], frozenset[str]] = {}  # what leaders were told, by coordinator
        self.plans: dict[int, dict[str, bytes]] = {}  # generation to the assignment its leader made
        self.owner: dict[tuple[int, int], str] = {}  # generation and partition to who was told it owns it
        self.coordinator = 0
        self.shard = self.log.load(GroupShard(SETTINGS, self.random))

    @property
    def now_ms(self) -> int:
        return int(self.now * 1000)

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while (deadline := self.shard.next_deadline) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.log.tick()
        self.now = end

    # --- what consumers do

    def join(self, consumer: Consumer) -> None:
        consumer.joined = consumer.synced = False
        metadata = (("range", b"of %d" % consumer.name), ("sticky", b""))
        request = JoinRequest(
            "g",
            "consumer",
            metadata,
            10_000,
            30_000,
            consumer.id,
            consumer.instance,
            f"c{consumer.name}",
            api_version=consumer.api_version,
        )
        coordinator = self.coordinator
        pending = consumer.waiting = self.log.write(self.shard.join(request, self.now, self.now_ms))
        pending.on_done(lambda answer: self.on_joined(consumer, pending, coordinator, answer))

    def on_joined(self, consumer: Consumer, pending: Any, coordinator: int, answer: Any) -> None:
        if consumer.waiting is not pending:
            return  # it gave up on this request
        consumer.waiting = None
        if answer.error is E.MEMBER_ID_REQUIRED:
            consumer.id = answer.member_id
        elif answer.error is E.NONE:
            consumer.id, consumer.generation, consumer.joined = answer.member_id, answer.generation_id, True
            consumer.leads = answer.leader == answer.member_id and not answer.skip_assignment
            consumer.others = tuple(member.member_id for member in answer.members)
            if consumer.leads:
                told = self.members_of.setdefault(
                    (coordinator, answer.generation_id), frozenset(consumer.others)
                )
                assert answer.member_id in consumer.others
                assert told == frozenset(consumer.others), "two leaders, or two views of one generation"
        else:
            consumer.heard(answer.error)

    def sync(self, consumer: Consumer) -> None:
        plan: dict[str, bytes] = {}
        if consumer.leads:
            for partition in range(PARTITIONS):
                member = consumer.others[partition % len(consumer.others)]
                plan[member] = plan.get(member, b"") + bytes([partition])
        request = SyncRequest(
            "g", consumer.id, consumer.generation, consumer.instance, assignments=tuple(plan.items())
        )
        generation = consumer.generation
        pending = consumer.waiting = self.log.write(self.shard.sync(request, self.now, self.now_ms))
        pending.on_done(lambda answer: self.on_synced(consumer, pending, generation, answer))

    def on_synced(self, consumer: Consumer, pending: Any, generation: int, answer: Any) -> None:
        if consumer.waiting is not pending:
            return
        consumer.waiting = None
        if answer.error is not E.NONE:
            consumer.heard(answer.error)
            return
        consumer.synced = True
        for partition in answer.assignment:
            who = consumer.instance or consumer.id
            owner = self.owner.setdefault((generation, partition), who)
            assert owner == who, "two owners of one partition in one generation"

    # --- rules

    @initialize(statics=st.lists(st.booleans(), min_size=2, max_size=4))
    def start(self, statics: list[bool]) -> None:
        for static in statics:
            self.arrive(static, 9)
        self.all_act(4)

    @rule(static=st.booleans(), api_version=st.sampled_from([3, 9]))
    def arrive(self, static: bool, api_version: int) -> None:
        if len(self.living) <= SETTINGS.members_max:  # one more than there is room for
            self.count += 1
            consumer = Consumer(self.count, f"i{self.count}" if static else None, api_version)
            self.living.append(consumer)
            self.join(consumer)

    @rule(who=WHO)
    def one_acts(self, who: int) -> None:
        if self.living:
            self.act(self.living[who % len(self.living)])

    def act(self, consumer: Consumer) -> None:
        """The next thing that a healthy consumer does."""
        if consumer.waiting is not None:
            return
        if not consumer.joined:
            self.join(consumer)
        elif not consumer.synced:
            self.sync(consumer)
        else:
            consumer.heard(
                self.shard.heartbeat(
                    "g", consumer.id, consumer.instance, consumer.generation, self.now, now_ms=self.now_ms
                )
            )

    @rule(rounds=st.integers(1, 4))
    def all_act(self, rounds: int) -> None:
        for _ in range(rounds):
            for consumer in self.living:
                self.act(consumer)

    @rule(who=WHO)
    def retry_join(self, who: int) -> None:
        """It gave up waiting, or wants a rebalance."""
        if self.living:
            self.join(self.living[who % len(self.living)])

    @rule(who=WHO)
    def restart(self, who: int) -> None:
        """The process dies without a word and starts again."""
        if self.living:
            consumer = self.living[who % len(self.living)]
            consumer.reset()
            self.join(consumer)

    @rule(who=WHO, politely=st.booleans())
    def go(self, who: int, politely: bool) -> None:
        if not self.living:
            return
        consumer = self.living.pop(who % len(self.living))
        consumer.waiting = None
        if politely and consumer.id:
            leaving = [LeavingMember(consumer.id, consumer.instance)]
            self.log.write(self.shard.leave("g", leaving, self.now, self.now_ms))

    @rule(who=WHO, partition=st.integers(0, PARTITIONS - 1))
    def commit(self, who: int, partition: int) -> None:
        if not self.living:
            return
        consumer = self.living[who % len(self.living)]
        self.offset += 1
        topics = (CommitTopic("t", (CommitPartition(partition, self.offset),)),)
        request = CommitRequest("g", topics, consumer.generation, consumer.id, consumer.instance)
        before = len(self.log.records)
        pending = self.log.write(self.shard.commit(request, self.now, self.now_ms))
        if len(self.log.records) > before:
            self.written[partition] = self.offset
        elif pending.answer[0].partitions[0].error is not E.NONE:
            consumer.heard(pending.answer[0].partitions[0].error)

    @rule(seconds=st.sampled_from([1, 4, 9, 11, 31]))
    def wait(self, seconds: int) -> None:
        self.pass_time(seconds)

    @rule(holding=st.booleans())
    def slow_followers(self, holding: bool) -> None:
        self.log.holds = holding
        if not holding:
            self.log.commit()

    @rule(refusals=st.integers(1, 3))
    def full_disk(self, refusals: int) -> None:
        self.log.refuse(E.NOT_ENOUGH_REPLICAS, refusals)

    @rule(lost=st.integers(0, 5))
    def fail_over(self, lost: int) -> None:
        """Records that were not committed may be lost; committed ones never are."""
        kept = max(self.log.committed_end, len(self.log.records) - lost)
        if lost == 0:
            assert self.replayed().durable == self.shard.durable
        self.shard.unload()
        holds = self.log.holds
        self.log.truncate(kept)
        self.log.holds = holds
        self.coordinator += 1
        self.shard = self.log.load(GroupShard(SETTINGS, self.random))
        offsets = self.shard.durable.offsets.of_group("g").get("t", {})
        if lost == 0:
            assert {partition: one.offset for partition, one in offsets.items()} == self.written
        self.written = {partition: one.offset for partition, one in offsets.items()}

    def replayed(self) -> GroupShard:
        shard = GroupShard(SETTINGS, self.random)
        for key, value in self.log.records:
            shard.replay(key, value)
        return shard

    # --- what always holds

    @invariant()
    def committed_offsets_are_those_of_the_log(self) -> None:
        wanted = (FetchTopic("t", tuple(range(PARTITIONS))),)
        fetched = self.shard.fetch(FetchGroup("g", wanted)).topics[0].partitions
        assert {
            one.partition_index: one.committed_offset for one in fetched if one.committed_offset >= 0
        } == (self.written)

    @invariant()
    def the_books_are_in_order(self) -> None:
        group = self.shard.groups.get("g")
        if group is None:
            return
        members = group.members
        assert group.joins_waiting == sum(member.join is not None for member in members.values())
        assert (group.leader is None) == (not members)
        assert group.leader is None or group.leader in members
        assert group.pending_syncs <= members.keys()
        assert group.static_ids == {m.instance_id: m.id for m in members.values() if m.instance_id}
        assert not members.keys() & group.pending.keys()
        if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
            assert members
        for member in members.values():
            assert member.is_waiting or member.session.deadline is not None, "a member that never expires"
            assert member.sync is None or group.state is State.COMPLETING_REBALANCE
        if group.state is State.PREPARING_REBALANCE:
            assert group.join_timer.deadline is not None, "a rebalance that never ends"

    def teardown(self) -> None:
        """Once nothing fails any more, all who live share all partitions in one generation."""
        self.log.holds = False
        self.log.refuse(None)
        self.log.commit()
        self.living = self.living[: SETTINGS.members_max]
        for _ in range(60):
            self.pass_time(2)
            self.all_act(1)
        if not self.living:
            return
        assert all(consumer.synced for consumer in self.living)
        (generation,) = {consumer.generation for consumer in self.living}
        assert {p for g, p in self.owner if g == generation} == set(range(PARTITIONS))
        group = self.shard.groups["g"]
        assert group.state is State.STABLE
        assert set(group.members) == {consumer.id for consumer in self.living}


TestClassicGroups = ClassicGroups.TestCase
TestClassicGroups.settings = settings(max_examples=200, stateful_step_count=40)
