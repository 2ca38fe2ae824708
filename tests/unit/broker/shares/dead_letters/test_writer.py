"""Dead letters at work: what is written, when it is tried again, and what is never written twice."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from tests.rigs import virtual_time
from tests.rigs.dead_letters import DLQ, DLQ_ID, ENABLED, NOW_MS, LetterRig, header
from tests.rigs.shares import GROUP, TOPIC_ID
from tidelog.base.config.config import load
from tidelog.base.errors import ErrorCode
from tidelog.broker.shares.dead_letters.job import LETTERS_MAX
from tidelog.broker.shares.dead_letters.writer import PAUSE_SECONDS_MAX
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.shares.dead_letters.letters import NO_RECORD, TOO_LARGE, Reason
from tidelog.shares.states import AckType, DeliveryState
from tidelog.wire.compression import Codec
from tidelog.wire.record import Record, write_batch

WAIT = {"max_wait_ms": 500}
NAME = "errors.deadletterqueue.topic.name"


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await test()

    virtual_time.run(whole())


async def reject(rig: LetterRig, count: int) -> None:
    """A worker takes the first records, and rejects them."""
    anna = rig.worker()
    assert await anna.take_ranges(**WAIT)
    assert await anna.done(0, count - 1, AckType.REJECT) is ErrorCode.NONE


def test_a_rejected_record_is_written_with_its_headers_and_archived() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.append(
            write_batch(
                [
                    Record(0, NOW_MS, b"k", b"good"),
                    Record(1, NOW_MS, b"k", b"bad", [("trace", b"7"), ("__dlq.errors.topic", b"forged")]),
                ],
                codec=Codec.LZ4,
            )
        )
        anna = rig.worker()
        assert await anna.take_ranges(**WAIT) == [(0, 1, 1)]
        assert await anna.done(0) is ErrorCode.NONE
        assert await anna.done(1, kind=AckType.REJECT) is ErrorCode.NONE
        [letter] = await rig.until_written(1)
        assert (letter.key, letter.value) == (b"k", b"bad")
        assert letter.headers[0] == ("trace", b"7")
        assert [header(letter, name) for name in ("topic", "partition", "offset", "group")] == [
            "jobs",
            "0",
            "1",
            GROUP,
        ]
        assert header(letter, "delivery.count") == "1"
        assert header(letter, "message") == Reason.REJECTED
        assert len(letter.headers) == 7
        await asyncio.sleep(0.1)
        assert rig.store.start_offset == 2
        assert rig.dead_letters.written == {GROUP: 1}

    run(test)


def test_a_record_that_was_delivered_too_often_is_written() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"bad")
        for _ in range(2):
            anna = rig.worker()
            assert await anna.take_ranges(**WAIT)
            await anna.done(0, kind=AckType.RELEASE)
        [letter] = await rig.until_written(1)
        assert header(letter, "message") == Reason.TOO_OFTEN
        assert header(letter, "delivery.count") == "2"

    run(test)


def test_the_members_answer_does_not_wait_for_the_dead_letter_topic() -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        rig.produce(b"bad", b"good")
        await reject(rig, 1)
        assert rig.letter_store.state_of(0) == DeliveryState.ARCHIVING

    run(test)


def test_a_share_partition_has_one_producer_for_all_its_batches() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"one", b"two", b"three")
        anna = rig.worker()
        await anna.take_ranges(**WAIT)
        for offset in range(3):
            assert await anna.done(offset, kind=AckType.REJECT) is ErrorCode.NONE
            await rig.until_written(offset + 1)
        begun = [one for data in rig.store.writes for one in data.dead_letter_writes]
        assert [(one.producer_id, one.first_sequence) for one in begun] == [(70, 0), (70, 1), (70, 2)]

    run(test)


def test_a_begun_batch_is_saved_before_it_is_sent() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"bad")
        seen: list[int] = []
        rig.broker2.after_write = lambda: seen.append(len(rig.letter_store.begun))
        await reject(rig, 1)
        await rig.until_written(1)
        assert seen == [1]
        await asyncio.sleep(0.1)
        assert rig.letter_store.begun == []

    run(test)


def test_a_leader_that_stops_before_the_second_save_leaves_one_dead_letter() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(*[b"bad"] * 5)

        def crash() -> None:
            rig.broker2.after_write = None
            rig.dead_letters.close()
            rig.shares.close()

        rig.broker2.after_write = crash
        await reject(rig, 5)
        await asyncio.sleep(5)
        assert len(rig.broker2.letters) == 5
        assert rig.letter_store.state_of(0) == DeliveryState.ARCHIVING
        rig.lead_anew()
        assert await rig.worker("bert").take_ranges(**WAIT) == []
        await asyncio.sleep(5)
        assert rig.broker2.produced == 2
        assert len(rig.broker2.letters) == 5
        assert rig.store.start_offset == 5
        assert rig.letter_store.begun == []

    run(test)


def test_a_leader_that_stops_before_the_send_leaves_one_dead_letter() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"bad")
        rig.broker2.errors = [ConnectionError("gone")] * 3
        await reject(rig, 1)
        await asyncio.sleep(0.2)
        assert len(rig.letter_store.begun) == 1
        rig.dead_letters.close()
        rig.shares.close()
        rig.broker2.errors = []
        rig.lead_anew()
        await rig.worker("bert").take_ranges(**WAIT)
        assert len(await rig.until_written(1)) == 1

    run(test)


def test_a_lost_answer_does_not_write_twice() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"bad", b"worse")

        def lose_answer() -> None:
            rig.broker2.after_write = None
            raise ConnectionError("the connection broke")

        rig.broker2.after_write = lose_answer
        await reject(rig, 2)
        await asyncio.sleep(5)
        assert rig.broker2.produced == 2
        assert [letter.value for letter in rig.broker2.letters] == [b"bad", b"worse"]
        assert rig.store.start_offset == 2

    run(test)


def test_a_leader_that_is_fenced_sends_nothing() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"bad")
        anna = rig.worker()
        await anna.take_ranges(**WAIT)
        rig.broker2.errors = [ConnectionError("gone")]
        assert await anna.done(0, kind=AckType.REJECT) is ErrorCode.NONE
        rig.store.errors = [ErrorCode.FENCED_LEADER_EPOCH]
        await asyncio.sleep(100)
        assert rig.broker2.produced == 0
        assert not len(rig.dead_letters)

    run(test)


def test_a_group_that_was_moved_while_dead_letters_waited_begins_where_it_was_moved_to() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"bad", b"old", b"new")
        rig.broker2.errors = [ErrorCode.NOT_ENOUGH_REPLICAS] * 100
        anna = rig.worker()
        await anna.take_ranges(**WAIT)
        assert await anna.done(0, kind=AckType.REJECT) is ErrorCode.NONE
        anna.disconnect()
        await asyncio.sleep(1)
        assert len(rig.shares) == 1, "a dead letter waits"
        rig.store.state_epoch += 1
        rig.store.start_offset, rig.store.batches = 2, []
        assert await rig.worker("bert").take_ranges(**WAIT) == [(2, 2, 1)]

    run(test)


def test_pauses_grow_and_the_log_says_why_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"bad", b"good")
        rig.broker2.errors = [ErrorCode.NOT_ENOUGH_REPLICAS] * 12
        with caplog.at_level(logging.WARNING, "tidelog.broker.shares"):
            await reject(rig, 1)
            await asyncio.sleep(100)
            assert "NOT_ENOUGH_REPLICAS" in rig.problem
            assert len(await rig.until_written(1, 400)) == 1
        times = rig.broker2.times
        pauses = [round(b - a, 1) for a, b in pairwise(times)]
        assert pauses[:7] == [0.5, 1, 2, 4, 8, 16, PAUSE_SECONDS_MAX]
        assert max(pauses) == PAUSE_SECONDS_MAX
        lines = [line for line in caplog.messages if "wait: dlq.jobs-0 on broker 2" in line]
        assert 3 <= len(lines) <= 1 + times[-1] // 60
        assert "written again, after 12 tries" in caplog.messages[-1]
        assert rig.problem == ""
        assert rig.dead_letters.failed == {GROUP: 12}

    run(test)


@pytest.mark.parametrize(("configs", "words"), [(None, "does not exist"), ({}, "does not take dead letters")])
def test_dead_letters_wait_for_their_topic(configs: dict[str, str] | None, words: str) -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        if configs is not None:
            rig.add_topic(configs)
        rig.produce(b"bad", b"good")
        await reject(rig, 1)
        await asyncio.sleep(90)
        assert words in rig.problem
        now = rig.clock.monotonic()
        rig.add_topic(ENABLED)
        assert len(await rig.until_written(1)) == 1
        assert rig.clock.monotonic() - now < 1  # a change of the metadata ends the pause

    run(test)


def test_a_group_that_reads_its_dead_letter_topic_is_held_up() -> None:
    async def test() -> None:
        rig = LetterRig(settings={NAME: "jobs"})
        rig.produce(b"bad")
        await reject(rig, 1)
        await asyncio.sleep(2)
        assert "would come back to it for ever" in rig.problem
        rig.configure({NAME: ""})  # what waits is archived, as the setting says
        await asyncio.sleep(30)
        assert rig.store.start_offset == 1
        assert not len(rig.dead_letters)
        assert not rig.broker2.letters

    run(test)


def test_a_topic_is_created_where_that_is_allowed() -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        rig.metadata.config = load(flags={"errors.deadletterqueue.auto.create.topics.enable": "true"})
        rig.broker2.refusal = ErrorCode.INVALID_REPLICATION_FACTOR
        rig.produce(b"bad")
        await reject(rig, 1)
        await asyncio.sleep(1)
        assert "cannot be created: INVALID_REPLICATION_FACTOR" in rig.problem
        rig.broker2.refusal = ErrorCode.NONE
        assert len(await rig.until_written(1)) == 1
        [created] = rig.broker2.created
        assert {one.name: one.value for one in created.configs} == {
            **ENABLED,
            "message.timestamp.type": "CreateTime",
        }

    run(test)


def test_a_begun_batch_of_a_deleted_topic_goes_to_the_next_topic() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"bad")
        rig.broker2.errors = [ErrorCode.UNKNOWN_TOPIC_ID] * 3
        await reject(rig, 1)
        await asyncio.sleep(0.2)
        assert len(rig.letter_store.begun) == 1
        rig.change_topics({DLQ: None})
        other = TopicImage("dlq.other", DLQ_ID[::-1], (PartitionImage(0, (2,), (2,), 2),), configs=ENABLED)
        rig.configure({NAME: "dlq.other"})
        rig.change_topics({"dlq.other": other})
        rig.broker2.errors = []
        assert len(await rig.until_written(1)) == 1
        assert rig.letter_store.begun == []

    run(test)


def test_a_begun_batch_stays_with_its_topic_when_the_group_gets_another() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"bad", b"worse")
        rig.broker2.errors = [ErrorCode.NOT_ENOUGH_REPLICAS]
        await reject(rig, 1)
        await asyncio.sleep(0.2)
        rig.configure({NAME: "dlq.missing"})
        await asyncio.sleep(5)
        assert len(rig.broker2.letters) == 1
        assert rig.store.start_offset == 1

    run(test)


def test_a_record_that_is_gone_leaves_its_headers() -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        rig.produce(b"bad")
        rig.produce(b"good")
        await reject(rig, 1)
        await asyncio.sleep(1)
        # Retention takes the record after the group gave up on it: nothing of it is written.
        rig.partition.log.delete_before(1)
        rig.add_topic(ENABLED)
        [letter] = await rig.until_written(1)
        assert letter.value is None
        assert header(letter, "message") == f"{Reason.REJECTED} {NO_RECORD}"
        assert header(letter, "offset") == "0"

    run(test)


def test_a_dead_letter_that_waits_is_kept_though_retention_takes_its_record() -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        rig.produce(*[b"x"] * 10)
        anna = rig.worker()
        assert await anna.take_ranges(**WAIT) == [(0, 9, 1)]
        assert await anna.done(2, 2, AckType.REJECT) is ErrorCode.NONE
        rig.partition.log.delete_before(6)
        rig.produce(b"new")
        assert await anna.take_ranges(**WAIT) == [(10, 10, 1)]
        assert await anna.done(3, 8) is ErrorCode.NONE  # what is gone of them needs no acknowledgement
        await anna.done(9, 10)
        assert rig.store.start_offset == 2
        rig.add_topic(ENABLED)
        [letter] = await rig.until_written(1)
        assert header(letter, "offset") == "2"
        assert header(letter, "message") == f"{Reason.REJECTED} {NO_RECORD}"
        await asyncio.sleep(1)
        assert rig.store.start_offset == 11

    run(test)


def test_dead_letters_of_records_that_are_gone_hold_up_no_others_for_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        rig.produce(*[b"x"] * 10)
        anna = rig.worker()
        assert await anna.take_ranges(**WAIT) == [(0, 9, 1)]
        assert await anna.done(0, 9, AckType.REJECT) is ErrorCode.NONE
        [led] = rig.shares
        led.share.limits = led.share.limits._replace(window_max=10)
        rig.produce(b"new")
        rig.partition.log.delete_before(9)
        led.follow_log_start()
        assert led.share.archiving == 10
        assert "dropped" not in caplog.text
        rig.partition.log.delete_before(10)
        led.follow_log_start()
        assert led.share.archiving == 9
        assert "1 dead letters of share group workers at jobs-0 are dropped" in caplog.text

    run(test)


def test_a_record_that_is_too_large_is_compressed_or_left_out() -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        rig.add_topic({**ENABLED, "max.message.bytes": "2000"})
        noise = random.Random(7).randbytes(5000)
        rig.produce(b"x" * 5000)
        rig.produce(noise)
        rig.produce(b"small")
        anna = rig.worker()
        await anna.take_ranges(**WAIT)
        assert await anna.done(0, 2, AckType.REJECT) is ErrorCode.NONE
        letters = await rig.until_written(3)
        assert [letter.value for letter in letters] == [b"x" * 5000, None, b"small"]
        assert header(letters[1], "message") == f"{Reason.REJECTED} {TOO_LARGE}"

    run(test)


def test_many_dead_letters_come_in_order_and_in_several_batches() -> None:
    async def test() -> None:
        rig = LetterRig()
        for number in range(40):
            rig.produce(*[b"%d" % number + b"." * 20_000] * 3)
        anna = rig.worker()
        while (taken := await anna.take_ranges(max_bytes=50 << 20, **WAIT)) != []:
            for first, last, _ in taken:
                assert await anna.done(first, last, AckType.REJECT) is ErrorCode.NONE
        letters = await rig.until_written(120)
        assert [int(header(letter, "offset")) for letter in letters] == list(range(120))
        assert 120 * 20_000 // (256 * 1024) <= rig.broker2.produced <= 20
        assert {one.producer_id for data in rig.store.writes for one in data.dead_letter_writes} == {70}

    run(test)


def test_a_batch_that_is_written_is_saved_though_the_next_is_held_up() -> None:
    """(It was saved with the next, or after ten seconds.)"""

    async def test() -> None:
        rig = LetterRig()
        rig.produce(*[b"bad"] * (LETTERS_MAX + 1))
        rig.broker2.after_write = lambda: rig.add_topic({})  # it takes no more
        await reject(rig, LETTERS_MAX + 1)
        await asyncio.sleep(0.3)
        assert len(rig.broker2.letters) == LETTERS_MAX
        assert "does not take dead letters" in rig.problem
        assert rig.store.start_offset == LETTERS_MAX
        assert not rig.letter_store.begun

    run(test)


def test_the_lost_end_of_a_dead_letter_topic_does_not_hold_up_what_follows() -> None:
    async def test() -> None:
        rig = LetterRig()
        rig.produce(b"one")
        rig.produce(b"two")
        anna = rig.worker()
        await anna.take_ranges(**WAIT)
        # Sequence 0 was written to a partition that an unclean election emptied; then someone wrote as 70.
        rig.broker2.errors = [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
        await anna.done(0, 1, AckType.REJECT)
        assert [letter.value for letter in await rig.until_written(2)] == [b"one", b"two"]
        assert [one.producer_id for data in rig.store.writes for one in data.dead_letter_writes] == [70, 71]

    run(test)


def test_a_group_without_copies_gets_headers_alone() -> None:
    async def test() -> None:
        rig = LetterRig(settings={"errors.deadletterqueue.copy.record.enable": "false"})
        rig.produce(b"bad")
        await reject(rig, 1)
        [letter] = await rig.until_written(1)
        assert (letter.key, letter.value) == (None, None)
        assert header(letter, "message") == Reason.REJECTED

    run(test)


def test_dead_letters_are_written_after_the_last_member_left() -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        rig.produce(b"bad")
        anna = rig.worker()
        await anna.take_ranges(**WAIT)
        await anna.done(0, kind=AckType.REJECT)
        anna.disconnect()
        await asyncio.sleep(600)
        assert rig.shares.loaded(GROUP, TOPIC_ID, 0) is not None
        rig.add_topic(ENABLED)
        assert len(await rig.until_written(1)) == 1
        await asyncio.sleep(1)
        assert rig.shares.loaded(GROUP, TOPIC_ID, 0) is None

    run(test)


def test_a_lost_leadership_ends_the_task() -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        rig.produce(b"bad")
        await reject(rig, 1)
        await asyncio.sleep(1)
        assert len(rig.dead_letters) == 1
        rig.lose_leadership()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not len(rig.dead_letters)
        assert rig.problem == ""

    run(test)


def test_a_task_that_ends_before_it_began_leaves_nothing_over() -> None:
    async def test() -> None:
        rig = LetterRig(has_topic=False)
        rig.produce(b"bad")
        anna = rig.worker()
        await anna.take_ranges(**WAIT)
        [led] = rig.shares
        rig.dead_letters.begin(led)
        rig.lose_leadership()
        await asyncio.sleep(1)
        assert not len(rig.dead_letters)

    run(test)
