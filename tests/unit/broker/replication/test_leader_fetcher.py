"""Followers that copy from a leader: data, acknowledgements, new leaders, and all that goes wrong between."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.rigs import virtual_time
from tidelog.base.errors import ErrorCode
from tidelog.replication.partition import Durability
from tidelog.wire.messages.fetch import FetchResponse

MakeRig = Callable[..., Any]


@pytest.fixture
def on_rig(make_rig: MakeRig) -> Callable[..., None]:
    def run(work: Callable[[Any], Awaitable[None]], **settings: Any) -> None:
        async def whole() -> None:
            rig = make_rig(**settings)
            try:
                await asyncio.wait_for(work(rig), 600)
            finally:
                await rig.close()
            assert len(asyncio.all_tasks()) == 1, "a task was left behind"

        virtual_time.run(whole())

    return run


OnRig = Callable[..., None]


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_write_is_committed_after_one_round_to_every_follower(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        await asyncio.sleep(0.1)  # the followers wait at the leader
        began = now()
        assert await rig[1].produce(b"a", b"b") is None
        assert now() - began == pytest.approx(0.002, abs=0.0015), "there and back again"
        assert rig[2].values() == rig[3].values() == [b"a", b"b"]

    on_rig(work)


def test_followers_hear_of_the_high_watermark_soon_and_not_at_the_cost_of_a_round_each_time(
    on_rig: OnRig,
) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        await asyncio.sleep(0.1)
        before = len(rig[1].requests)
        for number in range(50):
            assert await rig[1].produce(b"%d" % number) is None
        rounds = len(rig[1].requests) - before
        assert rounds <= 2 * 50 + 2, "the next records carry it"
        assert rig[2][0].high_watermark < 50
        await asyncio.sleep(0.1)
        assert rig[2][0].high_watermark == rig[3][0].high_watermark == 50

    on_rig(work)


def test_a_thousand_partitions_cost_a_waiting_follower_nothing(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create(partitions=200)
        await asyncio.sleep(0.3)
        before, answered = len(rig[1].requests), len(rig.answers)
        assert await rig[1].produce(b"x", index=7) is None
        await asyncio.sleep(2)
        named = [sum(len(t.partitions) for t in request.topics) for request in rig[1].requests[before:]]
        assert max(named) == 1
        told = [sum(len(t.partitions) for t in answer.responses) for answer in rig.answers[answered:]]
        assert max(told) == 1

    on_rig(work, brokers=2)


def test_a_partition_that_comes_later_does_not_wait_for_the_request_under_way(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        await asyncio.sleep(0.1)
        rig.create()
        began = now()
        await asyncio.sleep(0.01)
        assert await rig[1].produce(b"x", index=1) is None
        assert now() - began < 0.02, "half a second is how long an idle fetch waits"

    on_rig(work)


def test_under_fsync_a_follower_acknowledges_what_is_on_its_disk(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create(durability=Durability.FSYNC)
        await asyncio.sleep(0.1)
        for number in range(3):
            assert await rig[1].produce(b"%d" % number) is None
            for node in (1, 2, 3):
                assert rig[node][0].log.recovery_point == number + 1
        for node in (1, 2, 3):
            rig[node].disk.crash()

    on_rig(work)


def test_while_one_partition_is_synced_the_others_go_on(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create(durability=Durability.FSYNC)
        rig.create(durability=Durability.OS)
        await asyncio.sleep(0.1)
        slow = rig[1].produce(b"slow")
        for _ in range(2):
            assert await rig[1].produce(b"fast", index=1) is None
        assert not slow.done()
        assert await slow is None

    on_rig(work)


def test_what_a_dead_leader_alone_had_is_truncated_and_written_down_before_anything_else(
    on_rig: OnRig,
) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        await asyncio.sleep(0.1)
        assert await rig[1].produce(b"kept") is None
        await asyncio.sleep(0.1)
        rig.cut |= {(1, 2), (1, 3)}
        lost = rig[1].produce(b"lost", b"lost too")
        await asyncio.sleep(0.1)
        rig.lead(2, isr=(2, 3), to=[2, 3])
        assert await rig[2].produce(b"after") is None
        rig.cut.clear()
        rig.tell()
        assert (await lost).code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        await asyncio.sleep(1)
        assert [rig[node].values() for node in (1, 2, 3)] == [[b"kept", b"after"]] * 3
        assert rig[1].hosted.checkpoints == 1
        assert rig[1][0].high_watermark == 2

    on_rig(work)


def test_a_truncation_that_cannot_be_written_down_is_not_appended_to(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        rig.cut |= {(1, 2), (1, 3)}
        rig[1].produce(b"lost")
        rig.lead(2, isr=(2, 3), to=[2, 3])
        rig[2].produce(b"after")
        rig.cut.clear()
        rig[1].hosted.disk_is_full = True
        rig.tell()
        await asyncio.sleep(5)
        assert rig[1].values() == []
        rig[1].hosted.disk_is_full = False
        await asyncio.sleep(1)
        assert rig[1].values() == [b"after"]

    on_rig(work)


def test_a_follower_that_hears_of_the_new_leader_first_asks_again_soon(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        await asyncio.sleep(0.1)
        rig.lead(2, to=[3])  # broker 2 does not know yet that it leads
        await asyncio.sleep(0.05)
        rig.tell()
        began = now()
        assert await rig[2].produce(b"x") is None
        assert now() - began < 0.25

    on_rig(work)


def test_a_leader_that_cannot_be_reached_is_tried_until_it_can(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        await asyncio.sleep(0.1)
        rig.cut.add((1, 2))
        safe = rig[1].produce(b"x")
        await asyncio.sleep(20)
        assert rig[3].values() == [b"x"]
        assert not safe.done()
        rig.cut.clear()
        assert await asyncio.wait_for(safe, 0.5) is None
        assert rig[2].values() == [b"x"]

    on_rig(work)


def test_a_leader_that_does_not_answer_is_given_up_after_the_time_limit(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        await asyncio.sleep(0.3)
        serve, hangs = rig.serve, True

        async def serve_if_well(node: int, frame: memoryview) -> list[Any]:
            if hangs:
                await asyncio.sleep(10_000)
            answer: list[Any] = await serve(node, frame)
            return answer

        rig.serve = serve_if_well
        began = now()
        written = rig[1].produce(b"a")  # goes to the fetches that wait, and the next ones hang
        await asyncio.sleep(1)
        rig.create()  # named by a second request, which hangs as well
        await asyncio.sleep(3)
        hangs = False
        assert await written is None
        assert 6 <= now() - began < 6.5, "each request has its own five seconds"
        assert rig[2].values() == rig[3].values() == [b"a"]

    on_rig(work, **{"replica.socket.timeout.ms": "5000"})


def test_a_leader_that_forgot_the_session_gets_everything_again(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create(partitions=3)
        await asyncio.sleep(0.1)
        rig[1].fetches.sessions.end_all()
        await asyncio.sleep(1)
        for index in range(3):
            assert await rig[1].produce(b"x", index=index) is None
        assert len(rig[1].fetches.sessions) == 2

    on_rig(work)


def test_a_follower_behind_the_leaders_start_goes_on_from_there(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        rig.cut.add((1, 2))
        for number in range(10):
            rig[1].produce(b"%d" % number)
        await asyncio.sleep(0.1)
        rig.lead(1, isr=(1, 3))
        await asyncio.sleep(0.1)
        rig[1][0].log.delete_before(6)
        rig[1][0].log.roll(0)
        rig.cut.clear()
        await asyncio.sleep(2)
        assert rig[2].values() == [b"%d" % number for number in range(6, 10)]
        assert rig[2][0].log.start == 6
        assert rig[2][0].high_watermark == 10

    on_rig(work)


def test_bytes_that_were_damaged_on_the_way_are_asked_for_again(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        damaged = 0

        def damage(replica: int, answer: FetchResponse) -> FetchResponse:
            nonlocal damaged
            for topic in answer.responses:
                for partition in topic.partitions:
                    if replica == 2 and damaged < 3 and partition.records:
                        data = bytearray(partition.records.read())  # type: ignore[union-attr]
                        data[-1] ^= 1
                        partition.records = data
                        damaged += 1
            return answer

        rig.create()
        await asyncio.sleep(0.1)
        rig.alter = damage
        assert await rig[1].produce(b"precious") is None
        assert damaged == 3
        assert rig[2].values() == [b"precious"]

    on_rig(work)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        12_345,
    ],
)
def test_an_error_of_one_partition_does_not_stop_the_others(on_rig: OnRig, code: int) -> None:
    async def work(rig: Any) -> None:
        rig.create(partitions=2)
        await asyncio.sleep(0.1)

        def refuse(replica: int, answer: FetchResponse) -> FetchResponse:
            for topic in answer.responses:
                for partition in topic.partitions:
                    if partition.partition_index == 0 and partition.records:
                        partition.error_code, partition.records = int(code), b""
            return answer

        rig.alter = refuse
        stuck = rig[1].produce(b"x", index=0)
        began, requests = now(), len(rig[1].requests)
        for _ in range(5):
            assert await rig[1].produce(b"y", index=1) is None
        assert now() - began < 0.1
        await asyncio.sleep(2)
        assert not stuck.done()
        assert len(rig[1].requests) - requests < 100, "it is asked for again less and less often"
        rig.alter = lambda _, answer: answer
        assert await asyncio.wait_for(stuck, 1) is None

    on_rig(work)


def test_a_disk_error_of_the_follower_is_its_own_affair(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create(partitions=2)
        await asyncio.sleep(0.1)
        rig[2].disk.fail("write", "orders-0")
        rig[1].produce(b"x", index=0)
        await asyncio.sleep(1)
        assert rig[2][0].log.offline is not None
        assert await rig[1].produce(b"y", index=1) is None
        assert rig[3].values() == [b"x"]

    on_rig(work)


def test_a_partition_that_leaves_is_forgotten_by_both_sides(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create(partitions=2)
        await asyncio.sleep(0.1)
        gone = rig[2].hosted.by_key.pop((rig[2][1].topic_id, 1))
        rig[2].fetchers.on_roles([gone])
        await asyncio.sleep(0.1)
        [session] = [s for s in rig[1].fetches.sessions._sessions.values() if s.replica_id == 2]
        assert [key[1] for key in session.followed] == [0]
        rig.lead(3, index=0)
        rig.lead(3, index=1, to=[1, 3])
        await asyncio.sleep(0.1)
        assert rig[2].fetchers.leaders == [3]
        assert len(rig[1].fetches.sessions) == 0, "the last request ends the session"

    on_rig(work)


def test_a_follower_may_not_take_more_than_its_quota_while_it_is_behind(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        rig.cut.add((1, 2))
        rig.lead(1, isr=(1, 3))
        for _ in range(30):
            rig[1].produce(b"x" * 100_000)
        await asyncio.sleep(1)
        rig.throttled["follower"] = "0:2,0:3"
        rig.configure(follower_replication_throttled_rate="100000", replica_fetch_max_bytes="100000")
        rig.cut.clear()
        await asyncio.sleep(5)
        assert 8 <= len(rig[2].values()) <= 14, "ten seconds' worth at once, then what the rate allows"
        assert len(rig[3].values()) == 30
        await asyncio.sleep(25)
        assert len(rig[2].values()) == 30
        assert await rig[1].produce(b"y") is None, "who has caught up is not held back"

    on_rig(work)


def test_a_leader_whose_partitions_the_quota_holds_back_from_the_beginning_is_asked_later(
    on_rig: OnRig,
) -> None:
    async def work(rig: Any) -> None:
        rig.create(partitions=2)
        await asyncio.sleep(0.1)
        rig.throttled["follower"] = "0:2,1:2"
        rig.configure(follower_replication_throttled_rate="100000")
        for _ in range(15):
            assert await rig[1].produce(b"x" * 100_000) is None
        rig.lead(3, index=1)  # a leader of which broker 2 has copied nothing yet
        written = rig[3].produce(b"y", index=1)
        await asyncio.sleep(5)
        assert rig[2].values(1) == []
        assert await asyncio.wait_for(written, 10) is None
        assert rig[2].values(1) == [b"y"]

    on_rig(work)


def test_a_partition_that_the_quota_holds_back_after_its_sync_is_asked_for_later(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        sync, quota = rig[2].sync, rig[2].fetchers._parts.quota

        def sync_while_others_copy(partition: Any) -> None:
            if not quota.is_exceeded():  # by what another leader gives, while the disk works
                asyncio.get_running_loop().call_later(0.003, quota.record, 2_000_000)
            sync(partition)

        rig[2].sync = sync_while_others_copy
        rig.throttled["follower"] = "0:2"
        rig.configure(follower_replication_throttled_rate="100000", replica_fetch_max_bytes="20000")
        rig.cut.add((1, 2))
        rig.create(durability=Durability.FSYNC)
        rig.lead(1, isr=(1, 3))
        for _ in range(3):
            assert await rig[1].produce(b"x" * 15_000) is None
        rig.cut.clear()
        await asyncio.sleep(60)
        assert len(rig[2].values()) == 3

    on_rig(work)


def test_a_leader_may_not_give_more_than_its_quota_to_those_out_of_sync(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create()
        rig.cut.add((1, 2))
        rig.lead(1, isr=(1, 3))
        for _ in range(30):
            rig[1].produce(b"x" * 100_000)
        rig.throttled["leader"] = "*"
        rig.configure(leader_replication_throttled_rate="100000", replica_fetch_max_bytes="100000")
        rig.cut.clear()
        await asyncio.sleep(5)
        assert 8 <= len(rig[2].values()) <= 14
        assert len(rig[3].values()) == 30, "who is in sync is not held back"
        await asyncio.sleep(30)
        assert len(rig[2].values()) == 30

    on_rig(work)


def test_many_partitions_share_an_answer_fairly(on_rig: OnRig) -> None:
    async def work(rig: Any) -> None:
        rig.create(partitions=5)
        rig.configure(replica_fetch_response_max_bytes="100000", replica_fetch_max_bytes="100000")
        rig.cut.add((1, 2))
        await asyncio.sleep(0.1)
        for index in range(5):
            for _ in range(10):
                rig[1].produce(b"x" * 30_000, index=index)
        rig.cut.clear()
        while not all(len(rig[2].values(index)) == 10 for index in range(5)):
            counts = [len(rig[2].values(index)) for index in range(5)]
            assert max(counts) - min(counts) <= 6, counts
            await asyncio.sleep(0.001)

    on_rig(work, brokers=2)
