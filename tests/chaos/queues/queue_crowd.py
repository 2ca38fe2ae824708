"""Producers and the members of three share groups, which run as processes of their own; and the verdict."""

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import Consumer

from tests.chaos.log_ends import log_ends
from tests.chaos.process_cluster import PATIENCE_S, ProcessCluster
from tests.chaos.queues.leader_watch import LeaderWatch
from tests.chaos.queues.stored_letters import stored_letters
from tests.chaos.queues.workers import LIBRDKAFKA, OURS, Told, Worker
from tests.chaos.recorded_clients import Record, RecordedConsumer, RecordedProducer
from tests.chaos.victim import wait_until
from tidelog.server.peer_connections.peer_network import PeerNetwork
from tidelog.testing.checkers import check
from tidelog.testing.history import Completion, History, Operation
from tidelog.testing.share_checkers import check_shares
from tidelog.testing.share_history import (
    Acknowledge,
    GroupEnd,
    ShareEvent,
    ShareGroupPlan,
    ShareHistory,
    Stored,
    Take,
)
from tidelog.testing.sim.clients.client import Client
from tidelog.testing.sim.clients.shares.admin import ShareAdmin
from tidelog.testing.sim.cluster.queues import settings_of
from tidelog.testing.sim.runtime.clock import SimRandom

QUEUE, DEAD_LETTERS = "q", "dlq.letters"
LETTER_PARTITIONS = 2

SETTINGS: dict[str, object] = {
    "group.share.min.session.timeout.ms": 1_000,
    "group.share.session.timeout.ms": 3_000,
    "group.share.min.heartbeat.interval.ms": 200,
    "group.share.heartbeat.interval.ms": 400,
    "group.share.initialize.retry.interval.ms": 1_000,
    "offsets.topic.num.partitions": 2,
    "share.coordinator.state.topic.num.partitions": 2,
    "share.coordinator.snapshot.update.records.per.snapshot": 20,
    "share.coordinator.state.topic.prune.interval.ms": 2_000,
}
"""Of a cluster for it. A process that was killed is missed soon."""

REAL = ShareGroupPlan("real", delivery_limit=10, lock_ms=2_000, locks_max=200)
"""Its members use librdkafka."""
PLANS = (
    REAL,
    ShareGroupPlan("workers", delivery_limit=5, lock_ms=1_500, locks_max=200),
    ShareGroupPlan(
        "careful",
        delivery_limit=3,
        lock_ms=1_000,
        locks_max=100,
        backoff_ms=100,
        backoff_max_ms=800,
        dead_letter_topic=DEAD_LETTERS,
        dead_letter_partitions=LETTER_PARTITIONS,
    ),
)
PAUSE_S = 2.5
"""How long a member is stopped: longer than its locks."""


class QueueCrowd:
    def __init__(
        self,
        cluster: ProcessCluster,
        directory: Path,
        partitions: int,
        *,
        workers: int = 2,
        seed: object = 0,
        sends_per_second: float = 60.0,
    ) -> None:
        self.record = Record()
        self._cluster = cluster
        self._chance = random.Random(f"workers {seed}")
        self._places = [(QUEUE, index) for index in range(partitions)]
        self._shares: ShareHistory | None = None
        """Once the crowd has finished."""
        servers = cluster.bootstrap_servers
        directory.mkdir(parents=True, exist_ok=True)
        self.producers = [
            RecordedProducer(self.record, servers, self._places, sends_per_second=sends_per_second)
        ]
        self.workers = [
            Worker(
                directory,
                f"{plan.group}-{seed}-{number}",
                plan,
                servers=servers,
                topics=[QUEUE],
                program=LIBRDKAFKA if plan is REAL else OURS,
            )
            for plan in PLANS
            for number in range(workers)
        ]
        self._watch = LeaderWatch(cluster.members.values(), [QUEUE])

    @property
    def careful(self) -> list[RecordedProducer]:
        return self.producers

    def start(self) -> None:
        self._cluster.create_topic(
            DEAD_LETTERS, LETTER_PARTITIONS, errors_deadletterqueue_group_enable="true"
        )
        self._ask(_set_groups)
        self._watch.start()
        for client in (*self.producers, *self.workers):
            client.start()

    def until_writing(self, records: int = 20, patience_s: float = PATIENCE_S) -> None:
        """Producers write, and each group accepts what comes now."""
        producer = self.producers[0]
        goal = producer.acknowledged + records

        def has_more() -> bool:
            assert producer.is_alive(), f"no producer gives up: {self.record.complaints}"
            return producer.acknowledged >= goal

        wait_until(has_more, lambda: f"the producer goes on\n{self._cluster.log_tails()}", patience_s)
        since = time.monotonic()
        for plan in PLANS:
            wait_until(
                lambda group=plan.group: self._has_accepted(group, since),
                lambda group=plan.group: f"{group} goes on\n{self._cluster.log_tails()}",
                patience_s,
                pause_s=0.2,
            )

    def _has_accepted(self, group: str, since: float) -> bool:
        events = [
            event
            for worker in self.workers
            if worker.name.startswith(group)
            for event in Told(worker.files[-1]).events
        ]
        return any(
            isinstance(event, Acknowledge)
            and event.started > since
            and any(ack.outcome is Completion.OK for ack in event.acks)
            for event in events
        )

    def crash_one(self) -> None:
        """A member is killed and another takes its place, or it is stopped for longer than its locks last."""
        worker = self._chance.choice(self.workers)
        if self._chance.random() < 0.6:
            worker.crash()
        else:
            worker.pause()
            timer = threading.Timer(PAUSE_S, worker.resume)
            timer.daemon = True
            timer.start()

    # The end

    def finish(self) -> None:
        """With a healed cluster: each group finishes every record."""
        for producer in self.producers:
            producer.finish()
        for worker in self.workers:
            worker.drain()
        consumer = Consumer(
            {"bootstrap.servers": self._cluster.bootstrap_servers, "group.id": "x", "log_level": 0}
        )
        try:
            ends = log_ends(consumer, self._places)
        finally:
            consumer.close()
        group_ends = self._drain(ends)
        final = RecordedConsumer(self.record, self._cluster.bootstrap_servers, self._places)
        final.read_to(ends)
        final.start()
        final.join(PATIENCE_S)
        final.finish()
        now = time.monotonic()
        self.record.add(Operation("final", "final", started=now, ended=now))
        for worker in self.workers:
            if problem := worker.stop():
                self.record.complain(worker.name, problem)
        self._watch.stop()
        self._shares = ShareHistory([*PLANS, *self._events(), *group_ends, *self._letters()])

    def _events(self) -> list[ShareEvent]:
        events = [event for worker in self.workers for file in worker.files for event in Told(file).events]
        for event in events:
            self._watch.complete(event)
        return events

    def _letters(self) -> list[Stored]:
        return stored_letters(self._cluster.bootstrap_servers, DEAD_LETTERS, LETTER_PARTITIONS)

    def _drain(self, ends: dict[tuple[str, int], int]) -> list[GroupEnd]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = self._ask(_start_offsets)
            is_done = all(
                (found.get(plan.group) or {}).get(place, -1) >= end
                for plan in PLANS
                for place, end in ends.items()
            )
            if is_done or time.monotonic() > deadline:
                break
            time.sleep(0.3)
        return [
            GroupEnd(
                plan.group, f"{topic}-{index}", (found.get(plan.group) or {}).get((topic, index), -1), end
            )
            for plan in PLANS
            for (topic, index), end in ends.items()
        ]

    def abandon(self) -> None:
        for producer in self.producers:
            producer.is_stopping.set()
        for worker in self.workers:
            worker.kill()
        self._watch.stop()

    def _ask(self, question):
        async def ask() -> object:
            network = PeerNetwork(SimRandom(0))
            addresses = [(host, int(port)) for host, _, port in self._addresses()]
            client = Client("queue-admin", network, addresses, random.Random(0))
            try:
                return await question(client, len(self._places))
            finally:
                await network.close()

        return asyncio.run(ask())

    def _addresses(self) -> Iterator[tuple[str, str, str]]:
        for member in self._cluster.members.values():
            yield member.address.partition(":")

    # The verdict

    @property
    def history(self) -> History:
        return self.record.history

    def problems(self) -> list[str]:
        complaints = [
            text for worker in self.workers for file in worker.files for text in Told(file).complaints
        ]
        found = [*map(str, check(self.history)), *self.record.complaints, *complaints]
        if self._shares is not None:
            found += map(str, check_shares(self.history, self._shares))
        return found

    def count(self, outcome: Completion) -> int:
        return sum(producer.counts[outcome] for producer in self.producers)

    @property
    def longest_wait_s(self) -> float:
        return max(producer.longest_wait_s for producer in self.producers)

    def summary(self) -> str:
        events = [event for one in self.workers for file in one.files for event in Told(file).events]
        taken = sum(len(event.records) for event in events if isinstance(event, Take))
        acks = [ack for event in events if isinstance(event, Acknowledge) for ack in event.acks]
        good = sum(ack.outcome is Completion.OK for ack in acks)
        unknown = sum(ack.outcome is Completion.INFO for ack in acks)
        lives = sum(len(worker.files) for worker in self.workers)
        return (
            f"{self.count(Completion.OK)} sends ok, {taken} deliveries, {good} acknowledgements ok, "
            f"{unknown} unknown, {lives} processes worked"
        )

    def save(self, directory: Path) -> Path:
        path = directory / "history.jsonl"
        self.history.save(path)
        if self._shares is not None:
            self._shares.save(directory / "shares.jsonl")
        return path


async def _set_groups(client: Client, _: int) -> None:
    admin = ShareAdmin(client)
    for plan in PLANS:
        try:
            await admin.set_group(plan.group, settings_of(plan), PATIENCE_S)
        except TimeoutError:
            raise AssertionError(admin.last_problem) from None


async def _start_offsets(client: Client, partitions: int) -> dict[str, dict[tuple[str, int], int] | None]:
    admin = ShareAdmin(client)
    return {plan.group: await admin.start_offsets(plan.group, {QUEUE: partitions}) for plan in PLANS}
