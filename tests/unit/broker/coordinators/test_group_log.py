import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.rigs.partition import sole_leader
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode
from tidelog.base.ports import Clock
from tidelog.broker.coordinators.group_log import append_marker, replay_batch
from tidelog.broker.coordinators.runtime.loading import load_shard
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.groups.classic.messages import JoinAnswer, JoinRequest
from tidelog.groups.consumer.messages import HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.offsets.messages import CommitPartition, CommitRequest, CommitTopic, FetchGroup
from tidelog.groups.offsets.transactional_commit import TransactionalCommit
from tidelog.groups.settings import GroupSettings
from tidelog.groups.shard import GroupShard
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import ControlType, write_control_batch


class LoopClock:
    def now_ms(self) -> int:
        return int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class Counting:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def bytes(self, count: int) -> bytes:
        return next(self._numbers).to_bytes(count, "big")

    def below(self, limit: int) -> int:
        return 0


class Rig:
    def __init__(
        self,
        durability: Durability = Durability.OS,
        *,
        clock: Clock | None = None,
        settings: GroupSettings | None = None,
    ) -> None:
        self.disk = MemoryDisk()
        self.unsynced = 0
        self._clock = clock or LoopClock()
        self._settings = settings or GroupSettings()
        self.served = self.open(durability)
        self.served.start()

    def open(self, durability: Durability) -> ServedPartition[GroupShard]:
        partition = sole_leader(
            PartitionLog.open(self.disk, "/data/__consumer_offsets-0", LogConfig(compact=True), now_ms=0),
            topic="__consumer_offsets",
            durability=durability,
            on_unsynced=self._on_unsynced,
        )
        shard = GroupShard(self._settings, Counting())
        return ServedPartition(
            partition, shard, self._clock, log=logging.getLogger("test"), answer_seconds=lambda: 5.0
        )

    def _on_unsynced(self, _: Partition) -> None:
        self.unsynced += 1

    def commit(self, offset: int, index: int = 0) -> "asyncio.Future[Any]":
        topics = [CommitTopic("orders", [CommitPartition(index, offset)])]
        request = CommitRequest("readers", topics)
        return self.served.gather(
            lambda shard: shard.commit(request, *self.served.now), lambda answer: answer
        )

    def join(self) -> "asyncio.Future[JoinAnswer]":
        request = JoinRequest("readers", "consumer", [("range", b"")], 10_000, 60_000, api_version=3)
        return self.served.run(self.served.shard.join(request, *self.served.now), lambda answer: answer)

    def beat(self, epoch: int) -> "HeartbeatAnswer | asyncio.Future[HeartbeatAnswer]":
        first: dict[str, Any] = {
            "rebalance_timeout_ms": 1000,
            "subscribed_topic_names": (),
            "topic_partitions": (),
        }
        request = HeartbeatRequest("new", "member", epoch, **first)
        decision = self.served.shard.consumer_heartbeat(request, *self.served.now)
        return self.served.run_in_order(decision, lambda answer: answer)

    def committed(self, shard: GroupShard) -> dict[int, int]:
        return {
            offset.partition_index: offset.committed_offset
            for topic in shard.fetch(FetchGroup("readers")).topics
            for offset in topic.partitions
        }


def inline(job: Callable[[], Any]) -> "asyncio.Future[Any]":
    future = asyncio.get_running_loop().create_future()
    future.set_result(job())
    return future


def test_commits_of_one_turn_share_a_batch_and_a_load_finds_them_all() -> None:
    async def main() -> None:
        rig = Rig()
        futures = [rig.commit(100 + index, index) for index in range(20)]
        assert rig.served.partition.log.end == 0, "nothing is written before the turn is over"
        await asyncio.gather(*futures)
        assert rig.served.partition.log.end == 20
        batches = rig.served.partition.log.read(0, 1 << 20, end=20)
        assert batches is not None
        assert int.from_bytes(batches.slice.read()[57:61], "big") == 20, "twenty records in the first batch"
        fresh = GroupShard(GroupSettings(), Counting())
        assert await load_shard(rig.served.partition, fresh, replay_batch, inline) == 20
        fresh.on_loaded(0.0, 0)
        assert rig.committed(fresh) == {index: 100 + index for index in range(20)}

    run(main())


def test_an_answer_waits_until_its_records_are_committed() -> None:
    async def main() -> None:
        rig = Rig(Durability.FSYNC)
        future = rig.commit(7)
        await asyncio.sleep(1)
        assert not future.done()
        assert rig.unsynced
        flush = rig.served.partition.log.begin_flush()
        assert flush is not None
        flush.run()
        rig.served.partition.log.finish_flush(flush)
        rig.served.partition.advance()
        [topic] = await future
        assert topic.partitions[0].error is ErrorCode.NONE

    run(main())


def test_a_commit_that_takes_too_long_is_told_to_be_tried_again() -> None:
    async def main() -> None:
        rig = Rig(Durability.FSYNC)
        [topic] = await rig.commit(7)
        assert asyncio.get_running_loop().time() == pytest.approx(5.0)
        assert topic.partitions[0].error is ErrorCode.COORDINATOR_NOT_AVAILABLE

    run(main())


def test_a_failing_disk_is_told_and_changes_nothing() -> None:
    async def main() -> None:
        rig = Rig()
        await rig.commit(7)
        rig.disk.fail("write", ".log")
        [topic] = await rig.commit(8)
        assert topic.partitions[0].error is ErrorCode.NOT_COORDINATOR
        assert rig.committed(rig.served.shard) == {0: 7}

    run(main())


def test_a_member_that_falls_silent_is_removed_by_the_clock() -> None:
    async def main() -> None:
        rig = Rig()
        answer = await rig.join()
        assert answer.error is ErrorCode.NONE
        await asyncio.sleep(30)
        now, now_ms = rig.served.now
        beat = rig.served.shard.heartbeat(
            "readers", answer.member_id, None, answer.generation_id, now, now_ms=now_ms
        )
        assert beat is ErrorCode.UNKNOWN_MEMBER_ID

    run(main())


def test_closing_answers_members_that_wait() -> None:
    async def main() -> None:
        rig = Rig()
        assert (await rig.join()).error is ErrorCode.NONE
        waiting = rig.join()  # for the first member to come back
        await asyncio.sleep(0.1)
        assert not waiting.done()
        rig.served.close()
        assert (await waiting).error is ErrorCode.NOT_COORDINATOR

    run(main())


def test_what_is_decided_next_knows_of_commits_of_the_same_turn() -> None:
    async def main() -> None:
        rig = Rig()
        commit = rig.commit(7)
        deleted = rig.served.run(rig.served.shard.delete_groups(["readers"], *rig.served.now), list)
        await commit
        assert [one.error for one in await deleted] == [ErrorCode.NONE]
        assert rig.committed(rig.served.shard) == {}

    run(main())


def test_no_member_is_told_what_is_not_committed_yet() -> None:
    async def main() -> None:
        rig = Rig(Durability.FSYNC)
        rig.served.shard.on_topics_changed({})
        joined, again = rig.beat(0), rig.beat(1)  # the second needs no record, and tells of the first's
        assert isinstance(joined, asyncio.Future)
        assert isinstance(again, asyncio.Future)
        await asyncio.sleep(1)
        assert not joined.done()
        assert not again.done()
        flush = rig.served.partition.log.begin_flush()
        assert flush is not None
        flush.run()
        rig.served.partition.log.finish_flush(flush)
        rig.served.partition.advance()
        assert (await joined).member_epoch == (await again).member_epoch == 1
        at_once = rig.beat(1)
        assert isinstance(at_once, HeartbeatAnswer)
        assert at_once.member_epoch == 1

    run(main())


class TestTransactions:
    """Offsets that are part of a transaction, on their way to the log."""

    WRITER = (9, 0)

    def commit(self, rig: Rig, guard: Any) -> "asyncio.Future[Any]":
        request = CommitRequest("readers", [CommitTopic("orders", [CommitPartition(0, 50)])])
        wanted = TransactionalCommit(request, *self.WRITER)
        decision = rig.served.shard.commit_in_transaction(wanted, *rig.served.now)
        return rig.served.run(decision, lambda answer: answer[0].partitions[0].error, guard)

    def mark(self, rig: Rig, kind: ControlType) -> None:
        marker = write_control_batch(
            kind, producer_id=9, producer_epoch=0, coordinator_epoch=1, timestamp=rig.served.now[1]
        )
        append_marker(rig.served, marker)

    @pytest.mark.parametrize("kind", [ControlType.COMMIT, ControlType.ABORT])
    def test_they_count_with_the_marker_also_for_the_next_coordinator(self, kind: ControlType) -> None:
        async def main() -> None:
            rig = Rig()
            log = rig.served.partition.log
            rig.commit(5)
            guard = log.producer_state.begin_verification(*self.WRITER, -1, 0)
            assert await self.commit(rig, guard) is ErrorCode.NONE
            assert rig.committed(rig.served.shard) == {0: 5}
            assert log.producers.first_open == 1
            self.mark(rig, kind)
            expected = {0: 50 if kind is ControlType.COMMIT else 5}
            assert rig.committed(rig.served.shard) == expected
            assert log.producers.first_open is None
            again = GroupShard(GroupSettings(), Counting())

            await load_shard(rig.served.partition, again, replay_batch, inline)
            assert rig.committed(again) == expected
            assert again.durable == rig.served.shard.durable

        run(main())

    def test_without_a_guard_they_are_refused(self) -> None:
        async def main() -> None:
            rig = Rig()
            assert await self.commit(rig, None) is ErrorCode.INVALID_TXN_STATE
            guard = rig.served.partition.log.producer_state.begin_verification(*self.WRITER, -1, 0)
            self.mark(rig, ControlType.ABORT)
            assert await self.commit(rig, guard) is ErrorCode.INVALID_TXN_STATE
            assert rig.committed(rig.served.shard) == {}

        run(main())


class BusyClock(LoopClock):
    """Every look at it takes 30 ms: more than the pause between two pieces of a sweep."""

    def __init__(self) -> None:
        self._busy = 0.0

    def monotonic(self) -> float:
        self._busy += 0.03
        return super().monotonic() + self._busy


def test_a_sweep_lets_the_loop_turn_after_each_piece_however_long_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tidelog.groups.offsets.expiry.OFFSETS_PER_PIECE", 1)

    async def main() -> None:
        rig = Rig(clock=BusyClock(), settings=GroupSettings(offsets_retention_ms=1))
        shard = rig.served.shard
        for group_id in "abc":
            request = CommitRequest(group_id, [CommitTopic("orders", [CommitPartition(0, 7)])])
            await rig.served.run(shard.commit(request, *rig.served.now), lambda answer: answer)
        seen: list[str] = []
        apply = shard.apply

        def watched(*given: Any) -> None:
            apply(*given)
            seen.append("piece")
            asyncio.get_running_loop().call_soon(seen.append, "turn")

        monkeypatch.setattr(shard, "apply", watched)
        await asyncio.sleep(2 * GroupSettings().offsets_retention_check_interval_ms / 1000)
        assert seen == ["piece", "turn"] * 3
        assert not shard.groups

    run(main())
