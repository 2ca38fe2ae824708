"""Share groups in a run: their topics and settings, members and producers, the end in which they finish every
record, and what the checks say."""

import asyncio
from collections.abc import Iterator

import msgspec

from tidelog.testing.checkers import check
from tidelog.testing.history import History, Operation
from tidelog.testing.share_checkers import check_shares
from tidelog.testing.share_history import GroupEnd, LogStart, ShareGroupPlan, ShareHistory
from tidelog.testing.sim.clients.client import Address
from tidelog.testing.sim.clients.consumer import SimConsumer
from tidelog.testing.sim.clients.producer import SimProducer
from tidelog.testing.sim.clients.shares.admin import ShareAdmin
from tidelog.testing.sim.clients.shares.member import SimShareMember
from tidelog.testing.sim.clients.shares.scheduled_records import scheduled_records
from tidelog.testing.sim.clients.shares.sight import ClockRange, ShareSight
from tidelog.testing.sim.clients.transactor import Transactor
from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.cluster.queue_plan import QueuePlan
from tidelog.testing.sim.cluster.view import stored_records, transaction_of, views
from tidelog.testing.sim.runtime.clock import FIRST_MOMENT_MS
from tidelog.testing.sim.runtime.life import Life

QueueClient = SimShareMember | SimProducer | Transactor

DRAIN_SECONDS = 60.0
SCHEDULED_PART = 0.3


class Queues:
    def __init__(self, cluster: SimCluster, plan: QueuePlan) -> None:
        self._cluster = cluster
        self._loop = cluster.loop
        self._plan = plan
        self.sends = History()
        self.shares = ShareHistory(plan.groups)
        self._alive: dict[Life, QueueClient] = {}
        self._gone: list[QueueClient] = []
        self._log_starts: dict[tuple[str, int], int] = {}
        self._sight = ShareSight(self._leads, self._clocks)
        _, self._admin = cluster.new_client("queue-admin")
        self.problems: list[str] = []

    # What members cannot know

    def _leads(self, address: Address, topic: str, index: int) -> tuple[str, int] | None:
        for view in views(self._cluster):
            if view.machine.host == address[0]:
                for partition in view.partitions:
                    if (partition.topic, partition.index) == (topic, index) and partition.is_leader:
                        return view.life, partition.leader_epoch
        return None

    def _now_ms(self) -> int:
        return FIRST_MOMENT_MS + int(self._loop.now * 1000)

    def _clocks(self) -> ClockRange:
        offsets = [ms for machine in self._cluster.machines for ms in machine.wall_offsets_ms]
        return ClockRange(self._now_ms() + min(offsets), self._now_ms() + max(offsets))

    # The beginning

    async def prepare(self, seconds: float) -> None:
        """TimeoutError where the cluster does not accept topics and settings in time."""
        replicas = self._cluster.scenario.replicas
        configs = {"share.delete.acknowledged": "true"} if self._plan.deletes else {}
        for name, count in self._plan.topics.items():
            await self._admin.create_topic(
                name, partitions=count, replicas=replicas, configs=configs, seconds=seconds
            )
        if self._plan.dead_letter_topics == "made":
            await self._make_dead_letter_topics(seconds)
        admin = ShareAdmin(self._admin)
        for group in self._plan.groups:
            try:
                await admin.set_group(group.group, settings_of(group), seconds)
            finally:
                self._admin.last_problem = admin.last_problem or self._admin.last_problem

    async def _make_dead_letter_topics(self, seconds: float) -> None:
        for group in self._plan.groups:
            if group.dead_letter_topic:
                await self._admin.create_topic(
                    group.dead_letter_topic,
                    partitions=group.dead_letter_partitions,
                    replicas=self._cluster.scenario.replicas,
                    configs={"errors.deadletterqueue.group.enable": "true"},
                    seconds=seconds,
                )

    @property
    def last_problem(self) -> str:
        return self._admin.last_problem

    def start(self) -> None:
        for _ in range(self._plan.producers):
            self._start_producer()
        for number in range(self._plan.transactors):
            self._start_transactor(f"queue-tx-{number}")
        for group in self._plan.groups:
            for _ in range(self._plan.members):
                self._start_member(group)

    def _start_producer(self) -> None:
        life, client = self._cluster.new_client("qp")
        producer = SimProducer(
            self._loop,
            client,
            self.sends,
            topics=self._plan.topics,
            acks=-1,
            sends_per_second=self._plan.sends_per_second,
            batch_records=self._plan.batch_records,
            record_of=scheduled_records(self._now_ms, part=SCHEDULED_PART if self._plan.scheduled else 0.0),
        )
        self._begin(life, producer)

    def _start_transactor(self, transactional_id: str) -> None:
        life, client = self._cluster.new_client("qx")
        transactor = Transactor(
            self._loop,
            client,
            self.sends,
            topics=self._plan.topics,
            transactional_id=transactional_id,
            second_protocol=client.chance.random() < 0.5,
            look_up=lambda id: transaction_of(views(self._cluster), id),
        )
        self._begin(life, transactor)

    def _start_member(self, group: ShareGroupPlan) -> None:
        life, client = self._cluster.new_client("w")
        member = SimShareMember(
            self._loop, client, self.shares, self._sight, plan=group, topics=list(self._plan.topics)
        )
        self._begin(life, member)

    def _begin(self, life: Life, client: QueueClient) -> None:
        self._alive[life] = client
        self._loop.spawn(life, client.run(), name=life.name)

    def crash_one(self, number: int) -> None:
        """A client dies with what it holds, and another takes its place."""
        life = list(self._alive)[number % len(self._alive)]
        client = self._alive.pop(life)
        self._gone.append(client)
        self._cluster.note(f"{life.name} is killed")
        self._loop.kill(life)
        self._cluster.network.life_died(life, life.name, quietly=False)
        if isinstance(client, SimShareMember):
            self._start_member(client.plan)
        elif isinstance(client, Transactor):
            self._start_transactor(client.transactional_id)
        else:
            self._start_producer()

    def look(self) -> None:
        """Note where logs start that lose records."""
        if not self._plan.deletes:
            return
        for view in views(self._cluster):
            for partition in view.partitions:
                place = partition.topic, partition.index
                start = partition.log.start
                if place[0] in self._plan.topics and start > self._log_starts.get(place, 0):
                    self._log_starts[place] = start
                    self.shares.add(LogStart(f"{place[0]}-{place[1]}", start, self._loop.now))

    # The end

    def stop_writers(self) -> None:
        for client in self._alive.values():
            if isinstance(client, SimProducer | Transactor):
                client.is_stopping = True

    async def finish(self, seconds: float) -> None:
        """Members accept everything, until each group is at the end of each partition."""
        if self._plan.dead_letter_topics == "late":
            await self._make_dead_letter_topics(seconds)
        self._set_clocks()
        for client in self._alive.values():
            if isinstance(client, SimShareMember):
                client.is_draining = True
        life, last = self._cluster.new_client("queue-end")
        reader = SimConsumer(self._loop, last, self.sends, self._plan.topics, committed_only=True)
        await self._loop.spawn(life, self._drain(reader), name=life.name)
        for member in self._alive.values():
            member.is_stopping = True
        self._read_dead_letters()

    def _set_clocks(self) -> None:
        """To the latest time that any broker has seen: every time that a broker has set comes soon."""
        latest = max(ms for machine in self._cluster.machines for ms in machine.wall_offsets_ms)
        for machine in self._cluster.machines:
            if machine.wall_offset_ms != latest:
                machine.jump_clock(latest - machine.wall_offset_ms)

    async def _drain(self, reader: SimConsumer) -> None:
        deadline = self._loop.now + DRAIN_SECONDS
        admin = ShareAdmin(self._admin)
        ends = {group.group: dict[tuple[str, int], int]() for group in self._plan.groups}
        stable = None
        while self._loop.now < deadline:
            await asyncio.sleep(0.3)
            stable = await reader.ends()
            if stable is None:
                await reader.refresh()
            for group in ends:
                ends[group] = await admin.start_offsets(group, self._plan.topics) or {}
            if stable is not None and all(_is_at_end(offsets, stable) for offsets in ends.values()):
                break
        if stable is None:
            self.problems.append(f"the leaders of {list(self._plan.topics)} do not give their end offsets")
            return
        for group, offsets in ends.items():
            for place, end in stable.items():
                name, start = f"{place[0]}-{place[1]}", offsets.get(place, -1)
                if start < 0 and end > 0:
                    self.problems.append(f"{group} has no start offset of {name}: {admin.last_problem}")
                self.shares.add(GroupEnd(group, name, start, end))
        if not self._plan.deletes:
            await self._read_all(reader)

    async def _read_all(self, reader: SimConsumer) -> None:
        began = self._loop.now
        async with asyncio.timeout(DRAIN_SECONDS):
            await reader.read_to_the_end()
        self.sends.add(Operation(reader.name, "final", started=began, ended=self._loop.now))
        self.problems += reader.complaints

    def _read_dead_letters(self) -> None:
        for group in self._plan.groups:
            if group.dead_letter_topic:
                letters, partitions = stored_records(views(self._cluster), group.dead_letter_topic)
                # Brokers that create the topic choose the number of its partitions.
                self.shares.add(msgspec.structs.replace(group, dead_letter_partitions=partitions))
                for letter in letters:
                    self.shares.add(letter)

    def judge(self) -> Iterator[str]:
        yield from self.problems
        for client in (*self._alive.values(), *self._gone):
            yield from client.complaints
        yield from map(str, check_shares(self.sends, self.shares))
        if not self._plan.deletes:
            yield from map(str, check(self.sends))


def _is_at_end(offsets: dict[tuple[str, int], int], ends: dict[tuple[str, int], int]) -> bool:
    return all(offsets.get(place, -1) >= end for place, end in ends.items())


def settings_of(group: ShareGroupPlan) -> dict[str, str]:
    settings = {
        "share.auto.offset.reset": "earliest",
        "share.record.lock.duration.ms": str(group.lock_ms),
        "share.delivery.count.limit": str(group.delivery_limit),
        "share.partition.max.record.locks": str(group.locks_max),
        "share.isolation.level": "read_committed" if group.committed_only else "read_uncommitted",
        "share.retry.backoff.ms": str(group.backoff_ms),
        "share.retry.backoff.max.ms": str(group.backoff_max_ms),
    }
    if group.dead_letter_topic:
        settings["errors.deadletterqueue.topic.name"] = group.dead_letter_topic
        settings["errors.deadletterqueue.copy.record.enable"] = "true"
    return settings
