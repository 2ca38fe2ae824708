"""How far a leader's and a follower's log may be read, and when acks=all is given."""

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.replication.partition import Durability
from tidelog.replication.read_limit import ReadLimit


class Watcher:
    def __init__(self) -> None:
        self.told: list[int] = []

    def on_bytes(self, count: int) -> None:
        self.told.append(count)


def test_it_waits_for_every_member_of_the_in_sync_set(trio) -> None:
    trio.start()
    done: list[KafkaError | None] = []
    produced = trio.produce(1)
    assert not trio[1].when_committed(produced.committed_at, done.append)
    trio.fetch(2)
    trio.fetch(3)
    trio.fetch(2)
    assert trio.offsets(1) == (0, 1)
    assert done == []
    trio.fetch(3)
    assert trio.offsets(1) == (1, 1)
    assert done == [None]


def test_a_follower_learns_of_it_with_the_next_answer(trio) -> None:
    trio.start()
    trio.produce(1)
    for _ in range(2):
        trio.fetch(2)
        trio.fetch(3)
    assert trio.offsets(2) == (0, 1)
    trio.fetch(2)
    assert trio.offsets(2) == (1, 1)


def test_under_fsync_a_follower_asks_for_more_only_after_it_has_synced(trio) -> None:
    trio.start(Durability.FSYNC)
    trio.produce(1)
    trio.sync(1)
    looked: list[None] = []
    trio.fetch(2)
    assert trio[2].follower.fetch_position() is None
    assert not trio[2].when_synced(lambda: looked.append(None))
    trio.sync(2)
    assert looked == [None]
    assert trio[2].follower.fetch_position() == (1, 0, 0)
    assert trio[2].when_synced(lambda: pytest.fail("nothing to wait for"))


def test_under_fsync_the_leader_counts_what_it_has_synced_itself(trio) -> None:
    trio.start(Durability.FSYNC)
    trio.decide(isr=(1, 2))
    trio.tell()
    trio.produce(1)
    trio.fetch(2)
    trio.sync(2)
    trio.fetch(2)
    assert trio.offsets(1) == (0, 1)
    trio.sync(1)
    assert trio.offsets(1) == (1, 1)


def test_under_fsync_a_follower_shows_nothing_that_it_has_not_synced(trio) -> None:
    trio.start(Durability.FSYNC)
    trio.decide(isr=(1,))
    trio.tell()
    trio.produce(1)
    trio.sync(1)
    trio.fetch(2)
    assert trio.offsets(2) == (0, 1)
    trio.sync(2)
    assert trio.offsets(2) == (1, 1)


def test_a_new_leader_keeps_it_until_all_have_fetched_in_its_epoch(trio) -> None:
    trio.start()
    trio.produce(1)
    for follower in (2, 3, 2):
        trio.fetch(follower)
    trio.decide(leader=2)
    trio.tell()
    assert trio.offsets(2) == (0, 1)
    assert not trio[2].high_watermark_is_current
    trio.fetch(1)
    assert trio.offsets(2) == (0, 1)
    trio.fetch(3)
    assert trio.offsets(2) == (1, 1)
    assert trio[2].high_watermark_is_current


def test_a_shrunk_set_lets_it_go_on_only_when_the_controller_says_so(trio) -> None:
    trio.start()
    trio.produce(1)
    trio.fetch(2)
    trio.now += 60
    trio.fetch(2)
    proposal = trio[1].leader.isr_wanted(trio.now, 30.0, lambda _: True)
    assert proposal is not None
    assert proposal.isr == (1, 2)
    assert trio[1].leader.isr_proposed(proposal)
    assert trio.offsets(1) == (0, 1)
    trio.decide(isr=(1, 2))
    trio.tell(1)
    assert trio.offsets(1) == (1, 1)


def test_with_too_few_in_sync_it_stands_still_until_there_are_enough(trio) -> None:
    trio.start(min_insync_replicas=2)
    done: list[KafkaError | None] = []
    held: list[KafkaError | None] = []
    trio[1].when_committed(trio.produce(1).committed_at, done.append)
    assert not trio[1].when_replicated(1, held.append)
    trio.decide(isr=(1,))
    trio.tell(1)
    assert trio.offsets(1) == (0, 1)
    assert (done, held) == ([], [None]), "who only reads is served, nothing is acknowledged"
    assert trio[1].when_replicated(1, held.append)
    with pytest.raises(KafkaError) as refused:
        trio.produce(1)
    assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert trio[1].log.end == 1
    for _ in range(2):
        trio.fetch(2)
    assert trio.offsets(1) == (0, 1)
    trio.decide(isr=(1, 2))
    trio.tell(1)
    assert trio.offsets(1) == (1, 1)
    assert done == [None]


def test_one_who_is_about_to_join_is_waited_for_until_it_falls_back(trio) -> None:
    """A leader that writes all the time would be ahead of it for ever."""
    trio.start()
    trio.decide(isr=(1,))
    trio.tell()
    trio.produce(1)
    trio.fetch(2)
    trio.produce(1)
    assert trio.offsets(1) == (2, 2)
    trio.fetch(2)  # it has what there was when it asked before, so it is as good as caught up
    trio.produce(1)
    assert trio.offsets(1) == (2, 3)
    proposal = trio[1].leader.isr_wanted(trio.now, 30.0, lambda _: True)
    assert proposal is None
    trio.fetch(2)
    proposal = trio[1].leader.isr_wanted(trio.now, 30.0, lambda _: True)
    assert proposal is not None
    assert proposal.isr == (1, 2)
    assert trio[1].leader.isr_wanted(trio.now, 30.0, lambda _: False) is None
    assert trio.offsets(1) == (3, 3)


def test_one_who_leads_no_more_tells_everybody_who_waits(trio) -> None:
    trio.start()
    done: list[KafkaError | None] = []
    consumer, follower = Watcher(), Watcher()
    trio[1].watchers.add(consumer)
    trio[1].watchers.add_follower(follower)
    trio[1].when_committed(trio.produce(1).committed_at, done.append)
    assert (consumer.told, len(follower.told)) == ([], 1)
    trio.decide(leader=2)
    trio.tell(1)
    assert [error.code for error in done if error] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert consumer.told == [0]
    assert follower.told[1:] == [0]
    assert trio[1].leader is None
    for refused in (
        lambda: trio.produce(1),
        lambda: trio[1].append_own(bytearray(100), now_ms=0),
        lambda: trio[1].when_committed(0, done.append),
        trio[1].check_leader,
    ):
        with pytest.raises(KafkaError) as error:
            refused()
        assert error.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_followers_hear_of_what_is_written_and_consumers_of_what_is_committed(trio) -> None:
    trio.start()
    consumer, follower = Watcher(), Watcher()
    trio[1].watchers.add(consumer)
    trio[1].watchers.add_follower(follower)
    trio.produce(1)
    size = trio[1].log.size_bytes
    assert (consumer.told, follower.told) == ([], [size])
    assert trio[1].readable_end(ReadLimit.LOG_END) == 1
    assert trio[1].readable_end(ReadLimit.HIGH_WATERMARK) == 0
    for id in (2, 3, 2, 3):
        trio.fetch(id)
    assert (consumer.told, follower.told) == ([size], [size])
    assert trio[1].readable_end(ReadLimit.LAST_STABLE_OFFSET) == 1
    trio[1].watchers.remove(consumer)
    trio[1].watchers.remove(follower)
    trio.produce(1)
    assert (consumer.told, follower.told) == ([size], [size])


def test_consumers_of_a_follower_hear_when_they_may_read_there(trio) -> None:
    trio.start()
    trio.decide(isr=(1,))
    trio.tell()
    consumer = Watcher()
    trio[2].watchers.add(consumer)
    trio.produce(1)
    trio.fetch(2)
    assert consumer.told == [trio[1].log.size_bytes]


def test_a_leader_whose_disk_fails_counts_nobody(trio) -> None:
    trio.start()
    trio.disks[1].fail("write", ".log")
    with pytest.raises(KafkaError):
        trio.produce(1)
    with pytest.raises(KafkaError) as refused:
        trio[1].leader.follower_fetched(2, 0, 0, trio.now)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert trio[1].leader.isr_wanted(trio.now + 60, 30.0, lambda _: True) is None
