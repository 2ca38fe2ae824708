"""ShareFetch through its handler: what workers get, when they wait, and what wakes them."""

import asyncio

from msgspec.structs import replace

from tests.rigs import virtual_time
from tests.rigs.log import NOW_MS, end_transaction
from tests.rigs.shares import GROUP, TOPIC_ID, ShareRig, ranges_in, values_in
from tidelog.base.errors import ErrorCode
from tidelog.metadata.image.image import SHARE_VERSION
from tidelog.shares.states import AckType
from tidelog.wire.messages import share_fetch
from tidelog.wire.record import ControlType, Record, write_batch

RECORD_LIMIT = 1
WAIT = {"max_wait_ms": 500}


def test_each_record_goes_to_one_worker() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a", b"b")
        rig.produce(b"c", b"d")
        anna, bert = rig.worker("anna"), rig.worker("bert")
        first = await anna.take(max_records=2, **WAIT)
        second = await bert.take(**WAIT)
        assert values_in(first) == [b"a", b"b"]
        assert values_in(second) == [b"c", b"d"]
        assert ranges_in(second) == [(2, 3, 1)]
        assert second.acquisition_lock_timeout_ms == 30_000
        assert ranges_in(await anna.take()) == []

    virtual_time.run(run())


def test_the_last_batch_is_taken_as_a_whole_unless_the_limit_is_strict() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a", b"b", b"c")
        rig.produce(b"d")
        anna, bert = rig.worker("anna"), rig.worker("bert")
        assert await anna.take_ranges(max_records=1, **WAIT) == [(0, 2, 1)]
        anna.disconnect()
        strict = {"max_records": 1, "share_acquire_mode": RECORD_LIMIT, **WAIT}
        answer = await bert.take(**strict)
        assert ranges_in(answer) == [(0, 0, 2)]
        assert values_in(answer) == [b"a"]
        assert await bert.take_ranges(**strict) == [(1, 1, 2)]

    virtual_time.run(run())


def test_ranges_are_split_at_batches() -> None:
    async def run() -> None:
        rig = ShareRig()
        for _ in range(3):
            rig.produce(b"a", b"b")
        worker = rig.worker()
        assert await worker.take_ranges(batch_size=2, **WAIT) == [(0, 1, 1), (2, 3, 1), (4, 5, 1)]

    virtual_time.run(run())


def test_only_batches_with_acquired_records_are_sent() -> None:
    async def run() -> None:
        rig = ShareRig()
        for value in (b"a", b"b", b"c"):
            rig.produce(value)
        anna = rig.worker("anna")
        await anna.take(**WAIT)
        assert await anna.done(0, 2, AckType.ACCEPT) is ErrorCode.NONE
        rig.produce(b"d")
        answer = await anna.take(**WAIT)
        batch = len(write_batch([Record(0, 0, None, b"d", [])]))
        assert len(answer.responses[0].partitions[0].records) == batch

    virtual_time.run(run())


def test_a_fetch_waits_for_records() -> None:
    async def run() -> None:
        rig = ShareRig()
        anna = rig.worker()
        asyncio.get_running_loop().call_later(0.2, rig.produce, b"late")
        began = rig.clock.monotonic()
        assert values_in(await anna.take(**WAIT)) == [b"late"]
        assert 0.2 <= rig.clock.monotonic() - began < 0.3
        assert ranges_in(await anna.take(**WAIT)) == []
        assert rig.clock.monotonic() - began >= 0.7
        assert not rig.partition.watchers.consumers

    virtual_time.run(run())


def test_one_record_wakes_one_of_many_workers() -> None:
    async def run() -> None:
        rig = ShareRig()
        workers = [rig.worker(f"w{number}") for number in range(20)]
        waiting = [asyncio.ensure_future(one.take(max_records=1, **WAIT)) for one in workers]
        await asyncio.sleep(0.1)
        led = rig.shares.find(GROUP, TOPIC_ID, 0)
        assert len(led.waiters) == 20
        rig.produce(b"one")
        await asyncio.sleep(0.01)
        assert [task.done() for task in waiting] == [True] + [False] * 19
        assert values_in(waiting[0].result()) == [b"one"]
        assert all(not ranges_in(answer) for answer in (await asyncio.gather(*waiting))[1:])

    virtual_time.run(run())


def test_a_fetch_waits_for_a_released_record() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna, bert = rig.worker("anna"), rig.worker("bert")
        await anna.take(**WAIT)
        waiting = asyncio.ensure_future(bert.take_ranges(**WAIT))
        await asyncio.sleep(0.1)
        assert await anna.done(0, 0, AckType.RELEASE) is ErrorCode.NONE
        assert await waiting == [(0, 0, 2)]

    virtual_time.run(run())


def test_a_lock_that_ends_gives_its_record_to_another_worker() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.record.lock.duration.ms": "15000"})
        rig.produce(b"a")
        anna, bert = rig.worker("anna"), rig.worker("bert")
        await anna.take(**WAIT)
        began = rig.clock.monotonic()
        assert await bert.take_ranges(max_wait_ms=60_000) == [(0, 0, 2)]
        assert 15 <= rig.clock.monotonic() - began < 15.1
        assert await anna.done(0) is ErrorCode.INVALID_RECORD_STATE
        assert (0, 0, 0, 1) in rig.store.saved

    virtual_time.run(run())


def test_a_delayed_record_wakes_a_fetch_when_it_is_due() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.retry.backoff.ms": "2000"})
        rig.produce(b"a")
        anna = rig.worker("anna")
        await anna.take(**WAIT)
        await anna.done(0, 0, AckType.RELEASE)
        began = rig.clock.monotonic()
        assert await anna.take_ranges(max_wait_ms=10_000) == [(0, 0, 2)]
        assert 2 <= rig.clock.monotonic() - began < 2.1

    virtual_time.run(run())


def test_a_fetch_waits_for_enough_bytes_or_its_time_out() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        began = rig.clock.monotonic()
        waiting = asyncio.ensure_future(anna.take(min_bytes=120, **WAIT))
        await asyncio.sleep(0.1)
        rig.produce(b"b")
        assert values_in(await waiting) == [b"a", b"b"]
        assert rig.clock.monotonic() - began < 0.2
        rig.produce(b"c")
        assert values_in(await anna.take(min_bytes=10_000, **WAIT)) == [b"c"]
        assert rig.clock.monotonic() - began >= 0.6

    virtual_time.run(run())


def test_partitions_take_turns() -> None:
    async def run() -> None:
        rig = ShareRig(partitions=3)
        for index in range(3):
            for _ in range(2):
                rig.produce(b"x", index=index)
        anna = rig.worker()
        await anna.take(max_wait_ms=1, max_records=0)
        seen = []
        for _ in range(6):
            answer = await anna.take(max_records=1, **WAIT)
            seen += [one.partition_index for one in answer.responses[0].partitions]
        assert seen == [0, 1, 2, 0, 1, 2]

    virtual_time.run(run())


def test_one_fetch_takes_half_of_the_locks_while_others_wait() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.partition.max.record.locks": "100"})
        anna, bert = rig.worker("anna"), rig.worker("bert")
        waiting = [asyncio.ensure_future(one.take_ranges(**WAIT)) for one in (anna, bert)]
        await asyncio.sleep(0.1)
        rig.produce(*[b"x"] * 200)
        assert await asyncio.gather(*waiting) == [[(0, 49, 1)], [(50, 99, 1)]]
        assert await anna.take_ranges(**WAIT) == []
        assert await anna.done(0, 9) is ErrorCode.NONE
        assert await bert.take_ranges(**WAIT) == [(100, 109, 1)]

    virtual_time.run(run())


def test_a_fetch_that_waits_alone_takes_all_locks() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.partition.max.record.locks": "100"})
        waiting = asyncio.ensure_future(rig.worker().take_ranges(**WAIT))
        await asyncio.sleep(0.1)
        rig.produce(*[b"x"] * 200)
        assert await waiting == [(0, 99, 1)]

    virtual_time.run(run())


def test_control_batches_and_aborted_records_are_skipped() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.isolation.level": "read_committed"})
        log = rig.partition.log

        def transactional(producer: int, sequence: int, value: bytes) -> None:
            batch = write_batch(
                [Record(0, NOW_MS, None, value, [])],
                producer_id=producer,
                producer_epoch=0,
                base_sequence=sequence,
                transactional=True,
            )
            rig.append(batch)

        transactional(1, 0, b"aborted")
        transactional(2, 0, b"committed")
        transactional(1, 1, b"aborted too")
        end_transaction(log, 1, ControlType.ABORT)
        end_transaction(log, 2, ControlType.COMMIT)
        rig.produce(b"plain")
        transactional(3, 0, b"open")
        rig.partition.advance()
        anna = rig.worker()
        answer = await anna.take(**WAIT)
        assert values_in(answer) == [b"committed", b"plain"]
        assert ranges_in(answer) == [(1, 1, 1), (5, 5, 1)]
        await anna.done(1)
        await anna.done(5)
        assert rig.store.writes[-1].start_offset == 6
        waiting = asyncio.ensure_future(anna.take(**WAIT))
        await asyncio.sleep(0.1)
        end_transaction(log, 3, ControlType.COMMIT)
        rig.partition.appended(1)
        assert values_in(await waiting) == [b"open"]

    virtual_time.run(run())


def test_a_marker_at_the_beginning_of_a_read_ends_its_transaction() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.isolation.level": "read_committed"})
        log = rig.partition.log
        for sequence, value in enumerate((b"aborted", b"committed")):
            batch = write_batch(
                [Record(0, NOW_MS, None, value, [])],
                producer_id=1,
                producer_epoch=0,
                base_sequence=sequence,
                transactional=True,
            )
            rig.append(batch)
            if not sequence:
                rig.produce(b"plain")
                end_transaction(log, 1, ControlType.ABORT)
        end_transaction(log, 1, ControlType.COMMIT)
        rig.partition.advance()
        anna = rig.worker()
        one = {"max_records": 1, **WAIT}
        assert values_in(await anna.take(**one)) == [b"plain"]
        assert values_in(await anna.take(**one)) == [b"committed"]

    virtual_time.run(run())


def test_a_read_uncommitted_group_gets_records_of_every_transaction() -> None:
    async def run() -> None:
        rig = ShareRig()
        batch = write_batch(
            [Record(0, NOW_MS, None, b"open", [])],
            producer_id=1,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
        rig.append(batch)
        assert values_in(await rig.worker().take(**WAIT)) == [b"open"]

    virtual_time.run(run())


def test_records_that_retention_deleted_are_passed_over() -> None:
    async def run() -> None:
        rig = ShareRig()
        for value in (b"a", b"b", b"c"):
            rig.produce(value)
        anna = rig.worker()
        assert await anna.take_ranges(max_records=1, **WAIT) == [(0, 0, 1)]
        rig.partition.log.delete_before(2)
        assert await anna.take_ranges(**WAIT) == [(2, 2, 1)]
        assert await anna.done(2) is ErrorCode.NONE
        assert rig.store.writes[-1].start_offset == 3

    virtual_time.run(run())


def test_errors_are_answered_at_once() -> None:
    async def run() -> None:
        rig = ShareRig()
        anna = rig.worker()
        unknown = share_fetch.FetchTopic(
            topic_id=b"u" * 16, partitions=[share_fetch.FetchPartition(partition_index=0)]
        )
        answer = await anna.take(topics=[unknown], **WAIT)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert rig.clock.monotonic() == 0
        bert = rig.worker("bert")
        beyond = share_fetch.FetchTopic(
            topic_id=TOPIC_ID, partitions=[share_fetch.FetchPartition(partition_index=7)]
        )
        answer = await bert.take(topics=[beyond], **WAIT)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    virtual_time.run(run())


def test_a_fetch_that_waits_hears_of_a_new_leader() -> None:
    async def run() -> None:
        rig = ShareRig()
        anna = rig.worker()
        waiting = asyncio.ensure_future(anna.take(max_wait_ms=60_000))
        await asyncio.sleep(0.1)
        rig.lose_leadership()
        partition = (await waiting).responses[0].partitions[0]
        assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert rig.clock.monotonic() < 1
        assert len(rig.shares) == 0

    virtual_time.run(run())


def test_a_partition_that_was_moved_away_delivers_nothing() -> None:
    """Its share partition stayed, at the end that the log had then, and members waited there for ever."""

    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        assert await anna.take_ranges(**WAIT) == [(0, 0, 1)]
        rig.move_away()
        partition = (await anna.take(**WAIT)).responses[0].partitions[0]
        assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert len(rig.shares) == 0

    virtual_time.run(run())


def test_wrong_epochs_are_refused_and_change_nothing() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        assert (await anna.take(epoch=3)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
        anna.epoch = 0
        await anna.take(**WAIT)
        assert (await anna.take(epoch=9)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
        renewing = await anna.take(is_renew_ack=True, epoch=1)
        assert renewing.error_code == ErrorCode.INVALID_REQUEST
        anna.epoch = 1
        assert await anna.done(0) is ErrorCode.NONE

    virtual_time.run(run())


def test_a_broker_with_as_many_sessions_as_it_may_have_answers_late() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.shares.sessions._sessions_max = lambda: 1
        await rig.worker("anna").take()
        answer = await rig.worker("bert").take(max_wait_ms=300)
        assert answer.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
        assert rig.clock.monotonic() >= 0.3

    virtual_time.run(run())


def test_settings_of_a_group_hold_from_the_next_fetch_on() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        rig.produce(b"b")
        anna = rig.worker()
        assert (await anna.take(max_records=1, **WAIT)).acquisition_lock_timeout_ms == 30_000
        rig.configure({"share.record.lock.duration.ms": "20000"})
        assert (await anna.take(max_records=1, **WAIT)).acquisition_lock_timeout_ms == 20_000
        assert rig.shares.find(GROUP, TOPIC_ID, 0).share.limits.lock_seconds == 20

    virtual_time.run(run())


def test_a_limit_that_is_raised_wakes_fetches_that_wait() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.partition.max.record.locks": "100"})
        rig.produce(*[b"x"] * 150)
        anna, bert = rig.worker("anna"), rig.worker("bert")
        assert await anna.take_ranges(**WAIT) == [(0, 99, 1)]
        waiting = asyncio.ensure_future(bert.take_ranges(max_wait_ms=60_000))
        await asyncio.sleep(1)
        rig.configure({"share.partition.max.record.locks": "200"})
        assert await waiting == [(100, 149, 1)]
        assert rig.clock.monotonic() < 2

    virtual_time.run(run())


def test_settings_of_a_group_hold_for_locks_that_end_without_a_fetch() -> None:
    async def run() -> None:
        rig = ShareRig(settings={"share.delivery.count.limit": "5"})
        rig.produce(b"a")
        anna = rig.worker()
        await anna.take(**WAIT)
        rig.configure({"share.retry.backoff.ms": "7000"})
        await asyncio.sleep(31)
        [led] = rig.shares
        assert led.share.delayed == 1

    virtual_time.run(run())


def test_a_fetch_of_a_session_that_began_anew_elsewhere_takes_nothing() -> None:
    """The client gave its connection up, and the broker has not noticed."""

    async def run() -> None:
        rig = ShareRig()
        lost, anna = rig.worker("anna"), rig.worker("anna")
        waiting = asyncio.ensure_future(lost.take_ranges(max_wait_ms=60_000))
        await asyncio.sleep(1)
        again = asyncio.ensure_future(anna.take_ranges(max_wait_ms=60_000))
        await asyncio.sleep(1)
        rig.produce(b"a")
        assert await again == [(0, 0, 1)]
        assert await waiting == []
        lost.disconnect()
        assert await anna.done(0) is ErrorCode.NONE

    virtual_time.run(run())


def test_a_session_that_goes_on_elsewhere_ends_with_its_last_connection() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a", b"b")
        before, anna = rig.worker("anna"), rig.worker("anna")
        assert await before.take_ranges(max_records=1, share_acquire_mode=RECORD_LIMIT, **WAIT) == [(0, 0, 1)]
        anna.epoch = before.epoch
        assert await anna.take_ranges(**WAIT) == [(1, 1, 1)]
        before.disconnect()
        assert await anna.done(0, 1) is ErrorCode.NONE
        last = rig.worker("anna")
        last.epoch = anna.epoch
        rig.produce(b"c")
        assert await anna.take_ranges(**WAIT) == [(2, 2, 1)]
        last.epoch = anna.epoch
        assert await last.done(0) is ErrorCode.NONE
        anna.disconnect()
        last.disconnect()
        assert await rig.worker("bert").take_ranges(**WAIT) == [(2, 2, 2)]

    virtual_time.run(run())


def test_a_fetch_whose_client_left_takes_nothing() -> None:
    async def run() -> None:
        rig = ShareRig()
        anna = rig.worker()
        answer = anna.fetch(max_wait_ms=60_000)
        assert isinstance(answer, asyncio.Future)
        await asyncio.sleep(0.1)
        answer.cancel()
        anna.disconnect()
        await asyncio.sleep(0)
        rig.produce(b"a")
        assert await rig.worker("bert").take_ranges(**WAIT) == [(0, 0, 1)]

    virtual_time.run(run())


def test_a_cluster_that_does_not_use_share_groups_yet_says_so() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        worker = rig.worker()
        rig.metadata.image = replace(rig.metadata.image, features={})
        fetched = await worker.take(**WAIT)
        acknowledged = await worker.acknowledge({0: [(0, 0, [1])]})
        for answer in (fetched, acknowledged):
            assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
            assert "share.version is at level 0" in (answer.error_message or "")
            assert "tidelog cluster upgrade" in (answer.error_message or "")
        rig.metadata.image = replace(rig.metadata.image, features={SHARE_VERSION: 1})
        worker.epoch = 0
        assert values_in(await worker.take(**WAIT)) == [b"a"]

    virtual_time.run(run())


def test_a_broker_that_stops_answers_what_waits_and_begins_nothing() -> None:
    async def run() -> None:
        rig = ShareRig()
        worker = rig.worker()
        waiting = asyncio.ensure_future(worker.take(max_wait_ms=60_000))
        await asyncio.sleep(0.1)
        rig.shares.close()
        for answer in (await waiting, await worker.take(max_wait_ms=60_000)):
            [[partition]] = [topic.partitions for topic in answer.responses]
            assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert len(rig.shares) == 0

    virtual_time.run(run())
