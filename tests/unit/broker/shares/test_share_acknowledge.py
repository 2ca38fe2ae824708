"""ShareAcknowledge through its handler: answered when saved, refused without a change."""

import asyncio

import pytest

from tests.rigs import virtual_time
from tests.rigs.garbage import nothing_left_of
from tests.rigs.shares import GROUP, TOPIC_ID, ShareRig, ack_error, ranges_in
from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.shares.fetch_job import ShareFetchJob
from tidelog.broker.shares import share_partitions, state_saver
from tidelog.shares.states import AckType, DeliveryState

WAIT = {"max_wait_ms": 500}
ACCEPT, RELEASE, REJECT, RENEW = [AckType.ACCEPT], [AckType.RELEASE], [AckType.REJECT], [AckType.RENEW]


def test_an_acknowledgement_is_answered_when_it_is_saved() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a", b"b")
        anna = rig.worker()
        await anna.take(**WAIT)
        rig.store.gate = asyncio.Event()
        waiting = asyncio.ensure_future(anna.done(0))
        await asyncio.sleep(1)
        assert not waiting.done()
        rig.store.gate.set()
        assert await waiting is ErrorCode.NONE
        assert rig.store.writes[-1].start_offset == 1

    virtual_time.run(run())


def test_a_fetch_that_waited_for_its_acknowledgements_leaves_nothing_to_the_garbage_collector() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a", b"b")
        anna = rig.worker()
        await anna.take(max_records=1, share_acquire_mode=1, **WAIT)
        with nothing_left_of(ShareFetchJob):
            await anna.take(acks={0: [(0, 0, ACCEPT)]}, **WAIT)
            await asyncio.sleep(0)

    virtual_time.run(run())


def test_a_record_that_was_passed_without_a_save_is_answered_when_that_is_saved() -> None:
    """Its last lock ran out: the record was given up in memory, accepted, and came again after a crash."""

    async def run() -> None:
        rig = ShareRig(settings={"share.delivery.count.limit": "2", "share.record.lock.duration.ms": "15000"})
        rig.produce(b"a", b"b")
        anna = rig.worker()
        await anna.take(max_records=1, share_acquire_mode=1, **WAIT)
        await anna.done(0, kind=AckType.RELEASE)
        await anna.take(max_records=1, share_acquire_mode=1, **WAIT)
        rig.store.gate = asyncio.Event()
        await asyncio.sleep(16)
        waiting = asyncio.ensure_future(anna.done(0))
        await asyncio.sleep(1)
        assert not waiting.done()
        rig.store.gate.set()
        assert await waiting is ErrorCode.NONE

    virtual_time.run(run())


def test_what_comes_during_a_save_goes_into_the_next() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(*[b"x"] * 10)
        workers = [rig.worker(f"w{number}") for number in range(10)]
        for one in workers:
            await one.take(max_records=1, share_acquire_mode=1, **WAIT)
        writes = len(rig.store.writes)
        rig.store.gate = asyncio.Event()
        first = asyncio.ensure_future(workers[0].done(0))
        await asyncio.sleep(0.1)
        rest = [asyncio.ensure_future(one.done(number + 1)) for number, one in enumerate(workers[1:])]
        await asyncio.sleep(0.1)
        rig.store.gate.set()
        assert set(await asyncio.gather(first, *rest)) == {ErrorCode.NONE}
        assert len(rig.store.writes) == writes + 2
        assert rig.store.writes[-1].start_offset == 10

    virtual_time.run(run())


def test_a_save_that_fails_is_repeated() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        await anna.take(**WAIT)
        rig.store.errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR]
        assert await anna.done(0) is ErrorCode.NONE
        assert rig.store.writes[-1].start_offset == 1
        assert rig.clock.monotonic() >= 0.3

    virtual_time.run(run())


def test_a_save_that_takes_too_long_is_answered_with_an_error_and_goes_on() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        await anna.take(**WAIT)
        rig.store.gate = asyncio.Event()
        assert await anna.done(0) is ErrorCode.REQUEST_TIMED_OUT
        assert 10 <= rig.clock.monotonic() < 10.1
        rig.store.gate.set()
        await asyncio.sleep(0.1)
        assert rig.store.writes[-1].start_offset == 1
        assert await anna.done(0) is ErrorCode.NONE  # below the start offset, as in Kafka

    virtual_time.run(run())


@pytest.mark.parametrize(
    ("code", "answered"),
    [
        (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.FENCED_STATE_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_fenced_share_partition_is_dropped_and_loaded_again(code: ErrorCode, answered: ErrorCode) -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a", b"b")
        anna = rig.worker()
        await anna.take(**WAIT)
        rig.store.errors = [code]
        assert await anna.done(0) is answered
        assert len(rig.shares) == 0
        assert await anna.take_ranges(**WAIT) == [(0, 1, 1)]
        assert rig.store.reads == 2

    virtual_time.run(run())


def test_a_leader_that_moves_answers_what_waits() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        await anna.take(**WAIT)
        rig.store.gate = asyncio.Event()
        waiting = asyncio.ensure_future(anna.done(0))
        await asyncio.sleep(0.1)
        rig.lose_leadership()
        assert await waiting is ErrorCode.NOT_LEADER_OR_FOLLOWER
        writes = len(rig.store.writes)
        rig.store.gate.set()
        await asyncio.sleep(1)
        assert len(rig.store.writes) == writes

    virtual_time.run(run())


def test_a_deleted_topic_answers_what_waits() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        await anna.take(**WAIT)
        rig.store.gate = asyncio.Event()
        waiting = asyncio.ensure_future(anna.done(0))
        await asyncio.sleep(0.1)
        rig.delete_topic()
        assert await waiting is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    virtual_time.run(run())


def test_what_is_not_held_cannot_be_acknowledged() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a", b"b")
        anna, bert = rig.worker("anna"), rig.worker("bert")
        await bert.take(max_records=0)
        assert await bert.done(0) is ErrorCode.INVALID_RECORD_STATE
        await anna.take(**WAIT)
        assert await bert.done(0) is ErrorCode.INVALID_RECORD_STATE
        assert await anna.done(5, 9) is ErrorCode.INVALID_REQUEST
        assert await anna.done(1, 0) is ErrorCode.INVALID_REQUEST
        assert ack_error(await anna.acknowledge({0: [(0, 1, [])]})) is ErrorCode.INVALID_REQUEST
        assert ack_error(await anna.acknowledge({0: [(0, 1, [9])]})) is ErrorCode.INVALID_REQUEST
        assert ack_error(await anna.acknowledge({0: [(0, 1, [-1])]})) is ErrorCode.INVALID_REQUEST
        assert ack_error(await anna.acknowledge({0: [(0, 1, [1] * 100_000)]})) is ErrorCode.INVALID_REQUEST
        assert ack_error(await anna.acknowledge({0: [(0, 2**62, [1])]})) is ErrorCode.INVALID_REQUEST
        assert ack_error(await anna.acknowledge({7: [(0, 0, [1])]})) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        unknown = await anna.acknowledge({0: [(0, 0, [1])]}, topic_id=b"u" * 16)
        assert ack_error(unknown) is ErrorCode.UNKNOWN_TOPIC_ID
        assert await anna.done(0, 1) is ErrorCode.NONE
        assert await anna.done(0, 1) is ErrorCode.NONE  # below the start offset

    virtual_time.run(run())


def test_wrong_epochs_are_refused() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        assert ack_error(await anna.acknowledge({0: [(0, 0, ACCEPT)]}, epoch=1)) is (
            ErrorCode.SHARE_SESSION_NOT_FOUND
        )
        anna.epoch = 0
        await anna.take(**WAIT)
        wrong = await anna.acknowledge({0: [(0, 0, ACCEPT)]}, epoch=5)
        assert ack_error(wrong) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
        assert ack_error(await anna.acknowledge({0: [(0, 0, ACCEPT)]}, epoch=0)) is (
            ErrorCode.INVALID_SHARE_SESSION_EPOCH
        )
        assert rig.shares.find(GROUP, TOPIC_ID, 0).share.acquired == 1

    virtual_time.run(run())


def test_all_types_are_saved_with_their_delivery_counts() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(*[b"x"] * 5)
        anna = rig.worker()
        await anna.take(**WAIT)
        types = [AckType.GAP, AckType.ACCEPT, AckType.RELEASE, AckType.REJECT]
        assert ack_error(await anna.acknowledge({0: [(1, 4, types)]})) is ErrorCode.NONE
        assert set(rig.store.saved) == {
            (1, 1, DeliveryState.ARCHIVED, 1),
            (2, 2, DeliveryState.ACKNOWLEDGED, 1),
            (3, 3, DeliveryState.AVAILABLE, 1),
            (4, 4, DeliveryState.ARCHIVED, 1),
        }

    virtual_time.run(run())


def test_a_renewed_lock_lasts_longer() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        await anna.take(**WAIT)
        await asyncio.sleep(20)
        writes = len(rig.store.writes)
        assert ack_error(await anna.acknowledge({0: [(0, 0, RENEW)]})) is ErrorCode.INVALID_REQUEST
        renewed = await anna.acknowledge({0: [(0, 0, RENEW)]}, is_renew_ack=True)
        assert ack_error(renewed) is ErrorCode.NONE
        assert renewed.acquisition_lock_timeout_ms == 30_000
        await asyncio.sleep(20)
        assert len(rig.store.writes) == writes
        assert await anna.done(0) is ErrorCode.NONE

    virtual_time.run(run())


def test_acknowledgements_in_a_fetch() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker()
        await anna.take(**WAIT)
        rig.produce(b"b")
        answer = await anna.take(acks={0: [(0, 0, ACCEPT)]}, **WAIT)
        assert ranges_in(answer) == [(1, 1, 1)]
        assert answer.responses[0].partitions[0].acknowledge_error_code == 0
        assert rig.store.writes[-1].start_offset == 1
        began = rig.clock.monotonic()
        answer = await anna.take(acks={0: [(7, 9, ACCEPT)]}, **WAIT)
        assert answer.responses[0].partitions[0].acknowledge_error_code == ErrorCode.INVALID_REQUEST
        assert rig.clock.monotonic() == began
        renew = {"is_renew_ack": True, "max_records": 0, "max_bytes": 0, "min_bytes": 0}
        answer = await anna.take(acks={0: [(1, 1, RENEW)]}, **renew)
        assert answer.responses[0].partitions[0].acknowledge_error_code == 0

    virtual_time.run(run())


def test_the_end_of_a_session_releases_what_the_member_holds() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a", b"b")
        anna, bert = rig.worker("anna"), rig.worker("bert")
        await anna.take(**WAIT)
        await bert.take(max_records=0)
        final = await anna.acknowledge({0: [(0, 0, ACCEPT)]}, epoch=-1)
        assert ack_error(final) is ErrorCode.NONE
        assert await bert.take_ranges(**WAIT) == [(1, 1, 2)]
        gone = await anna.acknowledge({0: [(1, 1, ACCEPT)]}, epoch=3)
        assert ack_error(gone) is ErrorCode.SHARE_SESSION_NOT_FOUND

    virtual_time.run(run())


def test_a_closed_connection_releases_what_its_members_hold() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna, bert = rig.worker("anna"), rig.worker("bert")
        await anna.take(**WAIT)
        waiting = asyncio.ensure_future(bert.take_ranges(**WAIT))
        await asyncio.sleep(0.1)
        anna.disconnect()
        assert await waiting == [(0, 0, 2)]

    virtual_time.run(run())


def test_without_sessions_a_group_has_no_share_partitions_here() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker("anna")
        await anna.take(**WAIT)
        anna.disconnect()
        assert len(rig.shares) == 1
        await asyncio.sleep(0.1)
        assert rig.store.saved == [(0, 0, DeliveryState.AVAILABLE, 1)]
        assert len(rig.shares) == 0

    virtual_time.run(run())


def test_a_share_partition_that_is_not_used_is_dropped() -> None:
    async def run() -> None:
        rig = ShareRig()
        anna = rig.worker("anna")
        await anna.take(max_wait_ms=10)
        await asyncio.sleep(share_partitions.IDLE_SECONDS + 2 * share_partitions.SWEEP_SECONDS)
        assert len(rig.shares) == 0
        rig.produce(b"a")
        assert await anna.take_ranges(**WAIT) == [(0, 0, 1)]

    virtual_time.run(run())


def test_an_unexpected_failure_of_a_save_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"a")
        anna = rig.worker("anna")
        await anna.take(**WAIT)

        async def fail(_: object) -> None:
            raise RuntimeError("a bug")

        rig.store.write = fail  # type: ignore[assignment, method-assign]
        assert await anna.done(0) is ErrorCode.UNKNOWN_SERVER_ERROR
        assert len(rig.shares) == 0

    virtual_time.run(run())
    assert "cannot be saved" in caplog.text
    assert state_saver.ANSWER_SECONDS == 10
