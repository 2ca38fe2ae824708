"""A follower copies its leader byte by byte, and gives up what the leader does not have."""

import logging

import pytest

from tests.rigs.log import NOW_MS, batches
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.replication.partition import Durability, FetchPosition
from tidelog.wire.batch import iter_batches
from tidelog.wire.record import Record, write_batch


def follow(partition, records: bytes | bytearray, *, asked=None, mark: int = 0, start: int = 0) -> int:
    return partition.follower.follow(
        memoryview(records),
        asked=asked or partition.follower.fetch_position(),
        leader_high_watermark=mark,
        leader_log_start=start,
        now_ms=NOW_MS,
    )


def batch(offset: int, epoch: int = 0, value: bytes = b"x", count: int = 1) -> bytearray:
    records = [Record(offset + n, NOW_MS, None, value) for n in range(count)]
    return write_batch(records, base_offset=offset, leader_epoch=epoch)


def test_logs_become_the_same_byte_by_byte(trio) -> None:
    trio.start()
    for number in range(5):
        trio.produce(1, b"%d" % number)
    while trio.fetch(2, max_bytes=200):
        pass
    assert [bytes(b) for _, b in batches(trio[2].log)] == [bytes(b) for _, b in batches(trio[1].log)]
    assert trio[2].log.leader_epochs.entries == trio[1].log.leader_epochs.entries


def test_a_minority_that_went_on_writing_gives_it_up(trio) -> None:
    trio.start()
    trio.produce(1, b"both")
    for id in (2, 3, 2, 3):
        trio.fetch(id)
    trio.produce(1, b"only here", all_replicas=False)
    trio.produce(1, b"and this", all_replicas=False)
    trio.decide(leader=2, isr=(2, 3))
    trio.tell(2, 3)
    trio.fetch(3)
    trio.produce(2, b"of the new leader")
    trio.tell(1)
    trio.fetch(1)
    assert trio.values(1) == [b"both"]
    trio.fetch(1)
    assert trio.values(1) == trio.values(2) == [b"both", b"of the new leader"]
    assert trio[1].log.leader_epochs.entries == trio[2].log.leader_epochs.entries == [(0, 0), (1, 1)]


def test_it_takes_a_round_for_each_epoch_that_the_leader_does_not_know(trio) -> None:
    trio.start()
    log = trio[1].log
    for epoch in (0, 3, 5):
        raw = batch(log.end, epoch, b"here")
        log.append_as_follower(memoryview(raw), list(iter_batches(raw)), now_ms=NOW_MS)
    other = trio[2].log
    for epoch in (0, 4):
        raw = batch(other.end, epoch, b"there")
        other.append_as_follower(memoryview(raw), list(iter_batches(raw)), now_ms=NOW_MS)
    trio.image = trio.image.__class__(0, (1, 2, 3), (2,), 2, leader_epoch=6, partition_epoch=1)
    trio.tell()
    ends = []
    for _ in range(3):
        trio.fetch(1)
        ends.append(trio[1].log.end)
    assert ends == [2, 1, 2], "away with epoch 5, then with epoch 3, then the leader's record comes"
    assert trio.values(1) == [b"here", b"there"]


def test_one_who_led_without_writing_can_follow_a_leader_with_an_older_last_epoch(trio) -> None:
    trio.start()
    trio.produce(1, b"a")
    trio.fetch(2)
    trio.produce(1, b"b", all_replicas=False)
    trio.decide(leader=2)
    trio.tell(2)  # leads in epoch 1, and 1 hears nothing of it
    trio.decide(leader=1)
    trio.tell()
    assert trio[2].log.leader_epochs.latest == 1
    trio.fetch(2)
    trio.fetch(2)
    assert trio.values(2) == [b"a", b"b"]


def test_a_truncation_takes_back_what_producers_wrote_there(trio) -> None:
    trio.start()

    def send(id: int, sequence: int) -> int:
        records = [Record(0, NOW_MS, None, b"%d" % sequence)]
        raw = write_batch(records, producer_id=7, producer_epoch=0, base_sequence=sequence)
        return trio[id].produce(memoryview(raw), all_replicas=False, now_ms=NOW_MS).base_offset

    send(1, 0)
    trio.fetch(2)
    send(1, 1)
    trio.decide(leader=2, isr=(2,))
    trio.tell()
    assert send(2, 0) == 0, "the new leader knows what was written before its time"
    assert send(2, 1) == 1, "and takes what it has not got, though its writer has sent it before"
    trio.fetch(1)
    producer = trio[1].log.producers.get(7)
    assert producer is not None
    assert producer.last_sequence == 0
    trio.fetch(1)
    producer = trio[1].log.producers.get(7)
    assert producer is not None
    assert producer.last_sequence == 1
    assert trio.values(1) == trio.values(2) == [b"0", b"1"]


def test_truncating_what_may_have_been_read_is_logged_as_an_error(trio, caplog) -> None:
    trio.start()
    trio.produce(1, b"a")
    for id in (2, 3, 2, 3, 2):
        trio.fetch(id)
    assert trio[2].high_watermark == 1
    trio[3].log.truncate_to(0)
    trio.decide(leader=3, isr=(3,))  # unclean
    trio.tell()
    trio.produce(3, b"b")
    with caplog.at_level(logging.ERROR):
        trio.fetch(2)
    assert "truncated from 1 to 0, below the high watermark 1" in caplog.text
    trio.fetch(2)
    assert trio.values(2) == [b"b"]
    assert trio.offsets(2) == (1, 1)


def test_after_a_truncation_the_checkpoint_comes_first(trio) -> None:
    trio.start()
    trio.produce(1, b"a")
    trio.sync(1)
    trio.decide(leader=2, isr=(2,))
    trio.tell()
    asked = trio[1].follower.fetch_position()
    assert asked is not None
    cut = trio[1].follower.diverged(0, 0, asked=asked)
    assert cut.end == 0
    assert trio[1].follower.must_checkpoint
    assert trio[1].follower.fetch_position() is None
    trio[1].follower.checkpointed()
    assert trio[1].follower.fetch_position() == (0, -1, 1)


def test_late_answers_have_no_effect(trio) -> None:
    trio.start()
    asked = trio[2].follower.fetch_position()
    assert asked is not None
    assert follow(trio[2], batch(0), asked=asked) > 0
    assert follow(trio[2], batch(0), asked=asked, mark=1) == 0
    assert trio.offsets(2) == (0, 1)
    later = trio[2].follower.fetch_position()
    assert later is not None
    trio.decide(leader=3)
    trio.tell()
    assert follow(trio[2], batch(1), asked=later, mark=1) == 0
    assert trio[2].follower.diverged(0, 0, asked=later) == (1, [])
    assert trio[2].follower.out_of_range(5, 9, asked=later) == (1, [])
    assert trio.offsets(2) == (0, 1)


def test_the_word_of_an_older_leader_does_not_hold_for_what_comes_later(trio) -> None:
    trio.start()
    follow(trio[2], batch(0), mark=5)
    assert trio.offsets(2) == (1, 1)
    trio.decide(leader=3)
    trio.tell()
    follow(trio[2], batch(1, 1), mark=0)
    assert trio.offsets(2) == (1, 2)


def test_a_damaged_batch_is_refused_and_nothing_of_it_kept(trio) -> None:
    trio.start()
    raw = batch(0)
    raw[-1] ^= 1
    with pytest.raises(KafkaError) as refused:
        follow(trio[2], raw)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
    assert trio[2].log.end == 0


def test_batches_of_a_later_epoch_than_the_question_wait_for_the_metadata(trio) -> None:
    trio.start()
    first = batch(0, 0)
    assert follow(trio[2], first + batch(1, 1)) == len(first)
    assert trio[2].log.end == 1


def test_epochs_never_go_backwards(trio) -> None:
    trio.start()
    trio.decide(leader=3)
    trio.tell()
    follow(trio[2], batch(0, 1))
    with pytest.raises(KafkaError) as refused:
        follow(trio[2], batch(1, 0))
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


def test_it_starts_where_its_leader_starts(trio) -> None:
    trio.start()
    trio.decide(isr=(1,))
    trio.tell()
    for number in range(4):
        trio.produce(1, b"%d" % number)
    trio.fetch(2)
    trio[1].log.delete_before(3)
    trio.fetch(2)
    assert trio[2].log.start == 3


def test_one_that_lags_behind_the_start_of_the_leader_begins_there(trio) -> None:
    trio.start()
    asked = trio[2].follower.fetch_position()
    assert asked is not None
    assert trio[2].follower.out_of_range(10, 20, asked=asked).end == 10
    assert trio.offsets(2) == (10, 10)
    trio[2].follower.checkpointed()
    follow(trio[2], batch(8, count=4), mark=12, start=10)  # the leader's log starts in the middle of a batch
    assert (trio[2].log.start, *trio.offsets(2)) == (10, 12, 12)


def test_one_that_is_ahead_of_its_leader_goes_back(trio) -> None:
    trio.start()
    follow(trio[2], batch(0) + batch(1))
    asked = trio[2].follower.fetch_position()
    assert asked is not None
    assert trio[2].follower.out_of_range(0, 1, asked=asked).end == 1


def test_a_leader_tells_apart_what_diverges_and_what_is_out_of_range(trio) -> None:
    trio.start()
    for epoch in (0, 2):
        trio.image = trio.image.__class__(0, (1, 2, 3), (1,), 1, leader_epoch=epoch, partition_epoch=epoch)
        trio.tell(1)
        trio.produce(1)
    leader = trio[1]
    assert leader.divergence(2, 2) is None
    assert leader.divergence(-1, 1) is None
    assert leader.divergence(0, 1) is None
    assert leader.divergence(0, 2) == (0, 1)
    assert leader.divergence(1, 2) == (0, 1)
    assert leader.divergence(2, 5) == (2, 2)
    leader.log.delete_before(1)
    for epoch, offset in ((3, 2), (0, 0), (-1, 5)):
        with pytest.raises(KafkaError) as refused:
            leader.divergence(epoch, offset)
        assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_leader_that_knows_nothing_of_our_epoch_cannot_say_where_to_truncate(trio) -> None:
    trio.start()
    asked = trio[2].follower.fetch_position()
    assert asked is not None
    with pytest.raises(KafkaError) as refused:
        trio[2].follower.diverged(-1, -1, asked=asked)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_who_leads_or_has_no_leader_has_nothing_to_ask(trio) -> None:
    trio.start()
    trio.decide(leader=-1)
    trio.tell(2)
    for id in (1, 2):
        with pytest.raises(KafkaError) as refused:
            trio[id].follower.fetch_position()
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("operation", ["write", "truncate"])
def test_a_follower_whose_disk_fails_is_offline(trio, operation: str) -> None:
    trio.start(Durability.FSYNC)
    follow(trio[2], batch(0))
    told: list[str] = []
    trio[2].when_synced(lambda: told.append("look"))
    asked = FetchPosition(1, 0, 0)
    trio.disks[2].fail(operation, ".log")
    failing = {
        "write": lambda: follow(trio[2], batch(1), asked=asked),
        "truncate": lambda: trio[2].follower.diverged(0, 0, asked=asked),
    }
    with pytest.raises(KafkaError) as refused:
        failing[operation]()
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert told == ["look"]
    with pytest.raises(KafkaError) as refused:
        trio[2].follower.fetch_position()
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_high_watermark_that_was_known_before_a_start_is_not_above_the_log(trio) -> None:
    trio.start()
    assert trio[2].high_watermark == 0
    partition = trio[2].__class__(
        "orders",
        bytes(16),
        0,
        trio[2].log,
        node_id=2,
        durability=Durability.OS,
        min_insync_replicas=1,
        on_unsynced=lambda _: None,
        high_watermark=7,
    )
    assert partition.high_watermark == 0
