"""The clients of a run: started together, finished together, and judged by what they wrote down."""

import time
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import Consumer

from tests.chaos.log_ends import log_ends
from tests.chaos.process_cluster import PATIENCE_S, ProcessCluster
from tests.chaos.recorded_clients import (
    Places,
    Record,
    RecordedClient,
    RecordedConsumer,
    RecordedMember,
    RecordedProducer,
)
from tests.chaos.victim import wait_until
from tidelog.testing.checkers import check, realtime_lag
from tidelog.testing.history import Completion, History, Operation


class Crowd:
    def __init__(self, cluster: ProcessCluster, places: Places, *, sends_per_second: float = 50.0) -> None:
        self.record = Record()
        self._cluster = cluster
        self._places = places
        self._is_finished = False
        servers = cluster.bootstrap_servers
        self.producers = [
            RecordedProducer(self.record, servers, places, acks=acks, sends_per_second=sends_per_second)
            for acks in (-1, -1, 1)
        ]
        self.consumers: list[RecordedClient] = [
            RecordedConsumer(self.record, servers, places),
            RecordedMember(self.record, servers, places),
            RecordedMember(self.record, servers, places),
        ]

    @property
    def careful(self) -> list[RecordedProducer]:
        """The producers whose acknowledged records must stay."""
        return [producer for producer in self.producers if producer.acks == -1]

    def start(self) -> None:
        for client in (*self.producers, *self.consumers):
            client.start()

    def until_writing(self, records: int = 20, patience_s: float = PATIENCE_S) -> float:
        """Each careful producer gets so many more acknowledged; how long the first of them took."""
        began = time.monotonic()
        goals = {producer: producer.acknowledged + records for producer in self.careful}

        def all_have_more() -> bool:
            assert all(producer.is_alive() for producer in self.careful), (
                f"no producer gives up: {self.record.complaints}"
            )
            return all(producer.acknowledged >= goal for producer, goal in goals.items())

        wait_until(
            all_have_more,
            lambda: (
                f"producers go on; {'; '.join(self._cluster.what_is_missing())}\n{self._cluster.log_tails()}"
            ),
            patience_s,
        )
        return time.monotonic() - began

    def finish(self) -> None:
        """With a healed cluster: every record gets its verdict, and the whole log is read once more."""
        for producer in self.producers:
            producer.is_stopping.set()
        for producer in self.producers:
            producer.finish()
        ends = self._ends()
        final = RecordedConsumer(self.record, self._cluster.bootstrap_servers, self._places)
        final.read_to(ends)
        final.start()
        final.join(PATIENCE_S)
        if final.is_alive():
            self.record.complain(final.name, f"read only to {final.positions} of {ends}")
        self._until_group_is_at(ends)
        for consumer in (*self.consumers, final):
            consumer.is_stopping.set()
        for consumer in (*self.consumers, final):
            consumer.finish()
        now = time.monotonic()
        self.record.add(Operation("final", "final", started=now, ended=now))
        self._is_finished = True

    def abandon(self) -> None:
        """The run failed already: nobody waits for verdicts any more."""
        for client in (*self.producers, *self.consumers):
            client.is_stopping.set()

    def _ends(self) -> dict[tuple[str, int], int]:
        consumer = Consumer(
            {"bootstrap.servers": self._cluster.bootstrap_servers, "group.id": "x", "log_level": 0}
        )
        try:
            return log_ends(consumer, self._places)
        finally:
            consumer.close()

    def _until_group_is_at(self, ends: dict[tuple[str, int], int]) -> None:
        """What the group commits must come to the end, too."""
        commits = self.record.group_commits
        deadline = time.monotonic() + PATIENCE_S
        while behind := [place for place, end in ends.items() if commits.get(place, 0) < end]:
            if time.monotonic() > deadline:
                self.record.complain("group", f"does not come to the end of {behind}: {commits} of {ends}")
                return
            time.sleep(0.05)

    # The verdict

    @property
    def history(self) -> History:
        return self.record.history

    def problems(self) -> list[str]:
        return [*map(str, check(self.record.history)), *self.record.complaints, *self._passed_by_the_group()]

    def _passed_by_the_group(self) -> Iterator[str]:
        """A group that came to the end has read everything at least once, whoever of it read it."""
        if not self._is_finished:
            return
        members = {client.name for client in self.consumers if isinstance(client, RecordedMember)}
        history = self.record.history
        read = {r.value for operation in history if operation.process in members for r in operation.read}
        for operation in history:
            if operation.outcome is Completion.OK and operation.acks == -1:
                for sent in operation.sent:
                    if sent.value not in read:
                        yield f"lost to the group: {sent.value} at {sent.partition} {sent.offset}"

    def count(self, outcome: Completion) -> int:
        return sum(producer.counts[outcome] for producer in self.producers)

    @property
    def longest_wait_s(self) -> float:
        return max(producer.longest_wait_s for producer in self.careful)

    def summary(self) -> str:
        return (
            f"{self.count(Completion.OK)} sends ok, {self.count(Completion.INFO)} unknown, "
            f"{sum(len(operation.read) for operation in self.record.history)} records read, "
            f"longest wait for an acknowledgement {self.longest_wait_s:.1f} s, "
            f"slowest read {realtime_lag(self.record.history):.1f} s"
        )

    def save(self, directory: Path) -> Path:
        path = directory / "history.jsonl"
        self.record.history.save(path)
        return path
