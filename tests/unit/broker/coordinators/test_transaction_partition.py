"""The way of a decision about a transaction: to the log, and from there to producers and to partitions."""

import asyncio
import logging
from typing import Any

import pytest

from tests.rigs.partition import sole_leader
from tests.rigs.transactions.coordinator import A0, B0, ID
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode as E
from tidelog.base.errors import KafkaError
from tidelog.broker.coordinators.runtime.loading import load_shard, replay_records
from tidelog.broker.coordinators.runtime.registration import ANSWER_SECONDS
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.broker.coordinators.transaction_partition import TransactionPartition
from tidelog.replication.partition import Durability
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.transactions.marker import MarkersToWrite
from tidelog.transactions.messages import AddRequest, DescribedTransaction, EndRequest, InitRequest
from tidelog.transactions.settings import TransactionSettings
from tidelog.transactions.shard import TransactionShard
from tidelog.transactions.states import State
from tidelog.transactions.transaction import Identity


class LoopClock:
    def now_ms(self) -> int:
        return int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class Rig:
    def __init__(self, durability: Durability = Durability.OS) -> None:
        self.disk = MemoryDisk()
        self.markers: list[MarkersToWrite] = []
        self.last_id = 99
        self.partition = sole_leader(
            PartitionLog.open(self.disk, "/data/__transaction_state-0", LogConfig(compact=True), now_ms=0),
            topic="__transaction_state",
            leader_epoch=7,
            durability=durability,
            on_unsynced=lambda _: None,
        )
        self.requests = self.serve(TransactionShard(TransactionSettings(), 7))

    def serve(self, shard: TransactionShard) -> TransactionPartition:
        self.served = ServedPartition(
            self.partition,
            shard,
            LoopClock(),
            log=logging.getLogger("test"),
            answer_seconds=lambda: ANSWER_SECONDS,
            after_step=lambda served: self.markers.extend(served.shard.take_markers()),
        )
        self.served.start()
        return TransactionPartition(self.served, self.take_id)

    def close(self) -> None:
        self.served.close()
        self.requests.close()

    async def take_id(self) -> int:
        await asyncio.sleep(0)
        self.last_id += 1
        return self.last_id

    def sync(self) -> None:
        """Everything that is written gets committed."""
        flush = self.partition.log.begin_flush()
        if flush is not None:
            flush.run()
            self.partition.log.finish_flush(flush)
        self.partition.advance()

    async def init(self) -> Any:
        request = InitRequest(ID, 60_000)
        return await self.requests.run(
            lambda spare: self.requests.shard.init(request, self.requests.now_ms, spare)
        )

    async def add(self, producer: Identity) -> E:
        request = AddRequest(ID, producer, (A0, B0), 2)
        return await self.requests.run(lambda _: self.requests.shard.add(request, self.requests.now_ms))

    async def end(self, producer: Identity) -> Any:
        request = EndRequest(ID, producer, True, 2)
        return await self.requests.run(
            lambda spare: self.requests.shard.end(request, self.requests.now_ms, spare)
        )

    async def begun(self) -> Identity:
        producer: Identity = (await self.init()).producer
        assert await self.add(producer) is E.NONE
        return producer


async def at_once(job: Any) -> Any:
    return job()


def test_a_transaction_from_its_beginning_to_its_end() -> None:
    async def main() -> None:
        rig = Rig()
        producer = await rig.begun()
        assert producer == Identity(100, 0)
        assert await rig.end(producer) == (E.NONE, Identity(100, 1))
        [(marker, partitions)] = rig.markers
        assert partitions == (A0, B0)
        assert marker.coordinator_epoch == 7
        rig.requests.complete(marker)
        assert rig.requests.shard.transactions[ID].state is State.COMPLETE_COMMIT

    run(main())


def test_nothing_is_told_before_it_is_committed() -> None:
    async def main() -> None:
        rig = Rig(Durability.FSYNC)
        asked = asyncio.ensure_future(rig.init())
        await asyncio.sleep(0.1)
        assert not asked.done()
        again = asyncio.ensure_future(rig.requests.when_committed(lambda: "seen", lambda error: error.name))
        await asyncio.sleep(0.1)
        assert not again.done()
        rig.sync()
        producer = (await asked).producer
        assert await again == "seen"
        rig.sync()
        joining = asyncio.ensure_future(rig.add(producer))
        await asyncio.sleep(0)
        rig.sync()
        await joining
        ending = asyncio.ensure_future(rig.end(producer))
        await asyncio.sleep(0.1)
        assert rig.markers == [], "a decision that may still be lost"
        rig.sync()
        assert (await ending).error is E.NONE
        assert len(rig.markers) == 1

    run(main())


def test_what_takes_too_long_is_told_so_and_holds_all_the_same() -> None:
    async def main() -> None:
        rig = Rig(Durability.FSYNC)
        began = asyncio.get_running_loop().time()
        asked = asyncio.ensure_future(rig.init())
        assert (await asked).error is E.COORDINATOR_NOT_AVAILABLE
        assert asyncio.get_running_loop().time() - began >= ANSWER_SECONDS
        rig.sync()
        producer = rig.requests.shard.transactions[ID].writer
        joining = asyncio.ensure_future(rig.add(producer))
        await asyncio.sleep(0)
        rig.sync()
        assert await joining is E.NONE
        assert (await rig.end(producer)).error is E.COORDINATOR_NOT_AVAILABLE
        assert rig.markers == []
        rig.sync()
        assert len(rig.markers) == 1, "its producer is long gone, but the decision is committed now"

    run(main())


def test_a_refusal_waits_until_it_is_sure_that_nobody_else_has_decided() -> None:
    """A coordinator that was replaced cannot write: what it knows may be old, and it must not tell."""

    async def main() -> None:
        rig = Rig(Durability.FSYNC)
        asked = asyncio.ensure_future(rig.init())
        await asyncio.sleep(1)
        rig.sync()
        producer = (await asked).producer
        ended = asyncio.ensure_future(rig.end(producer))
        await asyncio.sleep(1)
        assert not ended.done()
        rig.sync()
        assert (await ended).error is E.INVALID_TXN_STATE
        assert (await rig.end(producer)).error is E.COORDINATOR_NOT_AVAILABLE

    run(main())


def test_what_cannot_be_written_did_not_happen() -> None:
    async def main() -> None:
        rig = Rig()
        producer = await rig.begun()
        rig.partition.replicas, rig.partition.min_insync_replicas = (1, 2, 3), 2
        assert (await rig.end(producer)).error is E.COORDINATOR_NOT_AVAILABLE
        assert rig.requests.shard.transactions[ID].state is State.ONGOING
        rig.partition.min_insync_replicas = 1
        assert (await rig.end(producer)).error is E.NONE

    run(main())


def test_a_completion_that_cannot_be_written_is_tried_again() -> None:
    async def main() -> None:
        rig = Rig()
        await rig.end(await rig.begun())
        [(marker, _)] = rig.markers
        rig.partition.replicas, rig.partition.min_insync_replicas = (1, 2, 3), 2
        rig.requests.complete(marker)
        await asyncio.sleep(2)
        assert rig.requests.shard.transactions[ID].state is State.PREPARE_COMMIT
        rig.partition.min_insync_replicas = 1
        await asyncio.sleep(2)
        assert rig.requests.shard.transactions[ID].state is State.COMPLETE_COMMIT

    run(main())


def test_the_next_request_waits_a_moment_for_the_markers() -> None:
    async def main() -> None:
        rig = Rig()
        after = (await rig.end(await rig.begun())).producer
        [(marker, _)] = rig.markers
        request = AddRequest(ID, after, (A0,), 2)

        async def add() -> E:
            return await rig.requests.run_next(
                ID, lambda _: rig.requests.shard.add(request, rig.requests.now_ms)
            )

        assert await add() is E.CONCURRENT_TRANSACTIONS, "it waits no longer than the producer would"
        asked = [asyncio.ensure_future(add()) for _ in range(2)]
        await asyncio.sleep(0.05)
        began = asyncio.get_running_loop().time()
        rig.requests.complete(marker)
        assert await asyncio.gather(*asked) == [E.NONE, E.NONE]
        assert asyncio.get_running_loop().time() == began
        ending = (await rig.end(after)).producer
        assert ending.epoch == 2
        waiting = asyncio.ensure_future(add())
        await asyncio.sleep(0.01)
        rig.close()
        with pytest.raises(KafkaError):
            await waiting

    run(main())


def test_the_next_transaction_begins_in_the_breath_that_ends_the_one_before() -> None:
    async def main() -> None:
        rig = Rig()
        producer = await rig.begun()
        producer = (await rig.end(producer)).producer
        [(marker, _)] = rig.markers
        request = AddRequest(ID, producer, (A0,), 2)
        waiting = asyncio.ensure_future(
            rig.requests.run_next(ID, lambda _: rig.requests.shard.add(request, rig.requests.now_ms))
        )
        await asyncio.sleep(0)
        before = rig.partition.log.end
        rig.requests.complete(marker)
        assert rig.partition.log.end == before + 2, "both are written before the loop turns"
        assert await waiting is E.NONE
        assert rig.requests.shard.transactions[ID].state is State.ONGOING

    run(main())


def test_one_who_waits_for_the_markers_and_goes_away_begins_nothing() -> None:
    async def main() -> None:
        rig = Rig()
        producer = await rig.begun()
        producer = (await rig.end(producer)).producer
        [(marker, _)] = rig.markers
        request = AddRequest(ID, producer, (A0,), 2)
        waiting = asyncio.ensure_future(
            rig.requests.run_next(ID, lambda _: rig.requests.shard.add(request, rig.requests.now_ms))
        )
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        rig.requests.complete(marker)
        assert rig.requests.shard.transactions[ID].state is State.COMPLETE_COMMIT

    run(main())


def test_a_timeout_aborts() -> None:
    async def main() -> None:
        rig = Rig()
        await rig.begun()
        await asyncio.sleep(61)
        [(marker, _)] = rig.markers
        assert not marker.commit

    run(main())


def test_the_next_coordinator_goes_on_where_this_one_stopped() -> None:
    async def main() -> None:
        rig = Rig()
        await rig.end(await rig.begun())
        before = dict(rig.requests.shard.transactions)
        rig.close()
        await asyncio.sleep(100)
        shard = TransactionShard(TransactionSettings(), 7)
        count = await load_shard(
            rig.partition,
            shard,
            replay_records,
            at_once,  # type: ignore[arg-type]
        )
        assert count == 3
        rig.markers.clear()
        requests = rig.serve(shard)
        assert requests.shard.transactions == before
        [(marker, partitions)] = rig.markers
        assert marker.commit
        assert partitions == (A0, B0)

    run(main())


def test_those_who_wait_are_told_when_another_broker_takes_over() -> None:
    async def main() -> None:
        rig = Rig(Durability.FSYNC)
        asked = asyncio.ensure_future(rig.init())
        await asyncio.sleep(0.1)
        rig.close()
        rig.partition.release_all(KafkaError(E.NOT_LEADER_OR_FOLLOWER))
        assert (await asked).error is E.NOT_COORDINATOR
        found = await rig.requests.when_committed(
            lambda: DescribedTransaction(ID), lambda error: DescribedTransaction(ID, error)
        )
        assert found.error is not E.NONE

    run(main())


def test_an_id_that_comes_too_late_is_not_used() -> None:
    async def main() -> None:
        rig = Rig()
        asked = asyncio.ensure_future(rig.init())
        await asyncio.sleep(0)
        rig.close()
        with pytest.raises(KafkaError) as refused:
            await asked
        assert refused.value.code is E.NOT_COORDINATOR

    run(main())
