"""Members that ask for much at once: a request has bounds, and leaves nothing behind."""

import asyncio

import pytest

from tests.rigs import virtual_time
from tests.rigs.shares import GROUP, TOPIC_ID, ShareRig, ranges_in
from tidelog.broker.handlers.shares import fetch_job
from tidelog.broker.handlers.shares.share_fetch import handle
from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.broker.shares import delivery
from tidelog.shares.partition.locks import Locks
from tidelog.wire.messages import share_fetch


def fetch(group: str, member: str, epoch: int) -> share_fetch.ShareFetchRequest:
    part = share_fetch.FetchPartition(partition_index=0)
    return share_fetch.ShareFetchRequest(
        group_id=group,
        member_id=member,
        share_session_epoch=epoch,
        max_records=1,
        max_bytes=1 << 20,
        share_acquire_mode=1,
        topics=[share_fetch.FetchTopic(topic_id=TOPIC_ID, partitions=[part])],
    )


def test_the_settings_of_groups_that_came_and_went_are_not_kept() -> None:
    rig = ShareRig()
    limits = rig.shares.limits
    assert limits.of("g" * 30_000) is limits.of("another")
    assert limits.of(GROUP) is not limits.of("another")
    for number in range(1000):
        limits.of(f"group-{number}")
    assert len(limits._limits) == 2


def test_a_connection_with_many_members_ends_in_one_pass_over_the_locks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes: list[int] = []

    def counted(self: Locks, member_ids: set[str]) -> list[object]:
        passes.append(len(member_ids))
        return of_members(self, member_ids)  # type: ignore[return-value]

    of_members = Locks.of_members
    monkeypatch.setattr(Locks, "of_members", counted)

    async def run() -> None:
        rig = ShareRig()
        rig.produce(*[b"v"] * 20)
        connection = ClientConnection("192.0.2.1", 5555, "PLAINTEXT", 77)
        context = Context(rig.services, connection, 2, "test")
        await rig.worker("other").take(max_wait_ms=500, max_records=1, share_acquire_mode=1)
        for number in range(10):
            answer = await response_of(handle(context, fetch(GROUP, f"m{number}", 0)))
            assert ranges_in(answer) == [(number + 1, number + 1, 1)]
        connection.closed()
        assert passes == [10]
        [led] = rig.shares
        assert led.share.acquired == 1, "that of the other connection"

    virtual_time.run(run())


def test_a_fetch_of_everything_reads_so_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "BATCHES_MAX", 3)

    async def run() -> None:
        rig = ShareRig()
        for _ in range(5):
            rig.produce(b"a", b"b")
        worker = rig.worker()
        assert await worker.take_ranges(max_records=2**31 - 1, max_wait_ms=500) == [(0, 5, 1)]
        assert await worker.take_ranges(max_records=2**31 - 1, max_wait_ms=500) == [(6, 9, 1)]

    virtual_time.run(run())


def test_ranges_with_gaps_are_split_at_batches() -> None:
    async def run() -> None:
        rig = ShareRig()
        for _ in range(4):
            rig.produce(b"a", b"b", b"c")
        first, second = rig.worker("first"), rig.worker("second")
        assert await first.take_ranges(max_records=12, max_wait_ms=500) == [(0, 11, 1)]
        await first.acknowledge({0: [(0, 0, [1]), (4, 4, [1])]})
        first.disconnect()
        split = await second.take_ranges(batch_size=2, max_wait_ms=500)
        assert split == [(1, 2, 2), (3, 3, 2), (5, 8, 2), (9, 11, 2)]

    virtual_time.run(run())


def test_a_fetch_that_does_not_wait_takes_less_than_it_wants() -> None:
    async def run() -> None:
        rig = ShareRig()
        worker = rig.worker()
        assert await worker.take_ranges(max_wait_ms=10) == []
        rig.produce(b"a")
        assert await worker.take_ranges(max_wait_ms=0, min_bytes=2**31 - 1) == [(0, 0, 1)]

    virtual_time.run(run())


def test_a_session_of_partitions_that_are_not_there_is_refused_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetch_job, "ERRORS_MAX", 3)

    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        worker = rig.worker()
        named = [share_fetch.FetchPartition(partition_index=index) for index in (1, 2, 3, 4, 5, 0)]
        topics = [share_fetch.FetchTopic(topic_id=TOPIC_ID, partitions=named)]
        assert errors_in(await worker.take(topics=topics, max_wait_ms=500)) == [1, 2, 3]
        assert errors_in(await worker.take(max_wait_ms=500)) == [1, 4, 5]
        await asyncio.sleep(1)  # the state of partition 0 is loaded
        assert ranges_in(await worker.take(max_wait_ms=500)) == [(0, 0, 1)], "no partition starves"

    virtual_time.run(run())


def errors_in(response: share_fetch.ShareFetchResponse) -> list[int]:
    return sorted(
        part.partition_index for topic in response.responses for part in topic.partitions if part.error_code
    )
