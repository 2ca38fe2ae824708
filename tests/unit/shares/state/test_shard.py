"""The share coordinator's decisions on a log in memory: fencing, refusals, snapshots, what a load needs."""

import pytest

from tests.rigs.shard_log import ShardLog
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.shares.place import SharePlace
from tidelog.shares.state.records import (
    SNAPSHOT_KEY,
    UPDATE_KEY,
    Part,
    decode_snapshot,
    decode_update,
    kind_of,
)
from tidelog.shares.state.requests import StateRead, StateSummary, StateWrite
from tidelog.shares.state.settings import (
    DEAD_LETTERS_MAX,
    DELAYED_RECORDS_MAX,
    RECORD_BATCHES,
    WINDOW_RECORDS_MAX,
    ShareStateSettings,
)
from tidelog.shares.state.shard import ShareStateShard
from tidelog.shares.states import DeadLetterWrite, DeliveryState, ShareState, StateBatch

TOPIC = bytes(range(16))
PLACE, OTHER = SharePlace("workers", TOPIC, 0), SharePlace("workers", TOPIC, 1)
LETTERS = DeadLetterWrite(4000, 1, 17, bytes(16), 5, ((0, 4),))
DONE = DeliveryState.ACKNOWLEDGED


class Coordinator:
    def __init__(self, *, updates_per_snapshot: int = 500, cold_ms: int = 300_000) -> None:
        self.now = 0.0
        self.settings = ShareStateSettings(updates_per_snapshot, cold_ms)
        self.log: ShardLog[ShareStateShard] = ShardLog(lambda: (self.now, int(self.now * 1000)))
        self.topics = {TOPIC}
        self.load()

    @property
    def shard(self) -> ShareStateShard:
        return self.log.shard

    def load(self) -> None:
        self.log.load(ShareStateShard(self.settings, lambda topic, index: topic in self.topics and index < 2))

    def initialize(self, place: SharePlace = PLACE, epoch: int = 1, start: int = 0) -> KafkaError | None:
        return self.log.write(self.shard.initialize(place, epoch, start, int(self.now * 1000))).answer

    def read(self, place: SharePlace = PLACE, epoch: int = 0) -> StateRead | KafkaError:
        return self.log.write(self.shard.read(place, epoch)).answer

    def write(
        self,
        *batches: StateBatch,
        place: SharePlace = PLACE,
        leader: int = 0,
        epoch: int = 1,
        start: int = 0,
        letters: DeadLetterWrite | None = None,
        sequence: int = -1,
    ) -> KafkaError | None:
        write = StateWrite(epoch, leader, start, batches, 0, letters, sequence)
        return self.log.write(self.shard.write(place, write)).answer

    def state(self, place: SharePlace = PLACE) -> ShareState:
        answer = self.shard.read(place, -1).if_committed
        assert isinstance(answer, StateRead)
        return answer.state

    def run_timers(self) -> None:
        """Everything that is due now, one turn of the loop after the other."""
        while (deadline := self.shard.next_deadline) is not None and deadline <= self.now:
            self.log.tick()

    @property
    def kinds(self) -> list[int]:
        return [kind_of(key) for key, _ in self.log.records]


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


def code(answer: object) -> ErrorCode:
    assert isinstance(answer, KafkaError)
    return answer.code


def done(first: int, last: int | None = None, count: int = 1) -> StateBatch:
    return StateBatch(first, first if last is None else last, DONE, count)


def test_a_state_is_initialized_before_anything_else(coordinator: Coordinator) -> None:
    assert code(coordinator.read()) is ErrorCode.INVALID_REQUEST
    assert code(coordinator.write(done(1))) is ErrorCode.INVALID_REQUEST
    assert coordinator.shard.summary(PLACE).if_committed == StateSummary(0, 0, -1, -1)
    assert coordinator.initialize(start=-1) is None
    assert coordinator.state() == ShareState(1, -1)
    assert coordinator.shard.summary(PLACE).if_committed == StateSummary(1, 0, -1, -1)
    assert coordinator.kinds == [SNAPSHOT_KEY]


def test_writes_add_up(coordinator: Coordinator) -> None:
    coordinator.initialize()
    assert coordinator.write(done(1, 3), done(7)) is None
    assert coordinator.write(StateBatch(2, 2, DeliveryState.ARCHIVED, 4), start=1) is None
    assert coordinator.state().batches == (
        done(1),
        StateBatch(2, 2, DeliveryState.ARCHIVED, 4),
        done(3),
        done(7),
    )
    assert coordinator.state().start_offset == 1
    assert coordinator.kinds == [SNAPSHOT_KEY, UPDATE_KEY, UPDATE_KEY]


def test_the_start_offset_does_not_go_back(coordinator: Coordinator) -> None:
    coordinator.initialize(start=100)
    coordinator.write(done(103, 104), start=102)
    assert coordinator.write(done(90, 110), start=50) is None
    assert coordinator.state() == ShareState(1, 102, (done(102, 110),))
    coordinator.load()
    assert coordinator.state() == ShareState(1, 102, (done(102, 110),))


def test_dead_letters_that_are_begun_are_kept_until_a_write_without_them(coordinator: Coordinator) -> None:
    coordinator.initialize()
    coordinator.write(letters=LETTERS)
    coordinator.read(epoch=3)
    coordinator.load()
    assert coordinator.state().dead_letters == LETTERS
    coordinator.write(leader=3)
    assert coordinator.state().dead_letters is None


def test_a_read_fences_older_leaders(coordinator: Coordinator) -> None:
    coordinator.initialize()
    records = len(coordinator.log.records)
    answer = coordinator.read(epoch=5)
    assert isinstance(answer, StateRead)
    assert len(coordinator.log.records) == records + 1, "the next coordinator must know the epoch, too"
    coordinator.load()
    assert code(coordinator.write(done(1), leader=4)) is ErrorCode.FENCED_LEADER_EPOCH
    assert code(coordinator.read(epoch=4)) is ErrorCode.FENCED_LEADER_EPOCH
    assert coordinator.write(done(1), leader=5) is None
    assert isinstance(coordinator.read(epoch=5), StateRead)
    assert len(coordinator.log.records) == records + 2, "nothing to say about the same epoch again"


def test_a_new_state_epoch_fences_leaders_of_the_old(coordinator: Coordinator) -> None:
    coordinator.initialize()
    coordinator.read(epoch=5)
    coordinator.write(done(1), leader=5)
    assert coordinator.initialize(epoch=2, start=50) is None
    assert coordinator.state() == ShareState(2, 50)
    assert code(coordinator.write(done(60), leader=5, epoch=1)) is ErrorCode.FENCED_STATE_EPOCH
    assert code(coordinator.initialize(epoch=1)) is ErrorCode.FENCED_STATE_EPOCH
    assert code(coordinator.write(done(60), leader=4, epoch=2)) is ErrorCode.FENCED_LEADER_EPOCH
    assert coordinator.write(done(60), leader=5, epoch=2) is None


def test_to_initialize_again_takes_nothing_back(coordinator: Coordinator) -> None:
    """A group coordinator asks again where an answer was lost, and a member may have worked since."""
    coordinator.initialize(start=-1)
    coordinator.write(done(10), start=10)
    assert coordinator.initialize(start=-1) is None
    assert coordinator.state() == ShareState(1, 10, (done(10),))
    assert coordinator.initialize(epoch=2, start=0) is None, "an offset that is asked for counts"
    coordinator.write(done(3), epoch=2)
    assert coordinator.initialize(epoch=2, start=0) is None, "once"
    assert coordinator.state() == ShareState(2, 0, (done(3),))


def test_a_leader_that_has_not_read_a_state_cannot_write_to_it(coordinator: Coordinator) -> None:
    """It has the state of a group of the same name in memory, which was deleted and made anew."""
    for leader in (0, 3):
        coordinator.initialize(epoch=7)
        coordinator.read(epoch=leader)
        assert coordinator.write(leader=leader, epoch=7, start=1000, sequence=8) is None
        coordinator.log.write(coordinator.shard.delete(PLACE))
        coordinator.initialize(epoch=1)
        coordinator.load()
        stale = coordinator.write(done(1200), leader=leader, epoch=7, start=1100, sequence=9)
        assert code(stale) is ErrorCode.FENCED_STATE_EPOCH
        assert coordinator.state() == ShareState(1, 0)
        coordinator.read(epoch=leader)
        assert coordinator.write(done(1), leader=leader, sequence=10) is None
        coordinator.log.write(coordinator.shard.delete(PLACE))


def test_a_write_that_arrives_late_is_refused(coordinator: Coordinator) -> None:
    """Its leader gave up on it, and has written anew since."""
    coordinator.initialize()
    coordinator.read()
    assert coordinator.write(done(5), sequence=8) is None
    late = StateBatch(5, 5, DeliveryState.AVAILABLE, 1)
    assert code(coordinator.write(late, sequence=7)) is ErrorCode.INVALID_REQUEST
    coordinator.load()
    assert code(coordinator.write(late, sequence=7)) is ErrorCode.INVALID_REQUEST
    answer = coordinator.read()
    assert isinstance(answer, StateRead)
    assert (answer.state.batches, answer.sequence) == ((done(5),), 8)


@pytest.mark.parametrize(("log_end", "start"), [(5000, 10), (12, 10), (7, 7)])
def test_records_that_the_log_has_lost_are_forgotten(
    coordinator: Coordinator, log_end: int, start: int
) -> None:
    """Others get their offsets, and are not taken for finished."""
    coordinator.initialize()
    coordinator.read()
    delayed = StateBatch(5001, 5002, DeliveryState.AVAILABLE, 3, 99_000)
    coordinator.write(done(11, 20), done(4900, 5000), delayed, done(9000), start=10, sequence=1)
    lost = StateWrite(1, 0, start, (), 0, None, 2, log_end=log_end)
    assert coordinator.log.write(coordinator.shard.write(PLACE, lost)).answer is None
    kept = {5000: (done(11, 20), done(4900, 4999)), 12: (done(11),), 7: ()}[log_end]
    for _ in range(2):
        assert coordinator.state() == ShareState(1, start, kept)
        coordinator.load()
    coordinator.write(done(8), start=start, sequence=3)
    assert (done(8) in coordinator.state().batches) == (start == 7)


def test_deleted_is_gone_and_may_come_again(coordinator: Coordinator) -> None:
    coordinator.initialize(epoch=7)
    coordinator.write(done(1), epoch=7)
    assert coordinator.log.write(coordinator.shard.delete(PLACE)).answer is None
    assert list(coordinator.shard) == []
    assert coordinator.log.write(coordinator.shard.delete(PLACE)).answer is None
    coordinator.load()
    assert code(coordinator.write(done(1), epoch=7)) is ErrorCode.INVALID_REQUEST
    assert coordinator.initialize(epoch=1) is None
    assert coordinator.state() == ShareState(1, 0)


def test_partitions_that_do_not_exist_are_unknown(coordinator: Coordinator) -> None:
    unknown = SharePlace("workers", TOPIC, 2)
    assert code(coordinator.initialize(unknown)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code(coordinator.shard.delete(unknown).if_committed) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code(coordinator.shard.summary(unknown).if_committed) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    negative = SharePlace("workers", TOPIC, -1)
    for answer in (
        coordinator.initialize(negative),
        coordinator.read(negative),
        coordinator.write(place=negative),
        coordinator.shard.delete(negative).if_committed,
        coordinator.shard.summary(negative).if_committed,
    ):
        assert code(answer) is ErrorCode.INVALID_REQUEST
    coordinator.initialize()
    coordinator.topics.clear()
    assert code(coordinator.read()) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code(coordinator.write(done(1))) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    "batch",
    [
        StateBatch(5, 4, DONE, 1),
        StateBatch(-2, 4, DONE, 1),
        StateBatch(5, 5, DONE, -1),
        StateBatch(5, 5, DeliveryState.ACQUIRED, 1),
        StateBatch(5, WINDOW_RECORDS_MAX, DONE, 1),
        StateBatch(1 << 62, 1 << 62, DONE, 1),
    ],
)
def test_bad_batches_change_nothing(coordinator: Coordinator, batch: StateBatch) -> None:
    coordinator.initialize()
    assert code(coordinator.write(done(1), batch)) is ErrorCode.INVALID_REQUEST
    assert coordinator.state() == ShareState(1, 0)


@pytest.mark.parametrize("start", [-5, -2])
def test_a_state_does_not_begin_at_a_negative_offset(coordinator: Coordinator, start: int) -> None:
    """(It was stored, and the group got no records of the partition.)"""
    assert code(coordinator.initialize(start=start)) is ErrorCode.INVALID_REQUEST
    assert not list(coordinator.shard)
    assert coordinator.initialize(start=-1) is None  # where the group's setting says
    assert code(coordinator.initialize(epoch=2, start=start)) is ErrorCode.INVALID_REQUEST
    assert coordinator.state() == ShareState(1, -1)


@pytest.mark.parametrize(
    "letters",
    [
        LETTERS._replace(offsets=()),
        LETTERS._replace(offsets=((4, 3),)),
        LETTERS._replace(offsets=((-1, 3),)),
        LETTERS._replace(offsets=((5, 8), (8, 9))),
        LETTERS._replace(offsets=((5, 8), (0, 1))),
        LETTERS._replace(offsets=((0, DEAD_LETTERS_MAX),)),
        LETTERS._replace(offsets=((0, 1 << 62),)),
        LETTERS._replace(producer_id=-1),
        LETTERS._replace(producer_epoch=-1),
        LETTERS._replace(first_sequence=-1),
        LETTERS._replace(partition=-1),
    ],
)
def test_dead_letters_that_cannot_have_been_begun_change_nothing(
    coordinator: Coordinator, letters: DeadLetterWrite
) -> None:
    coordinator.initialize()
    assert code(coordinator.write(done(1), letters=letters)) is ErrorCode.INVALID_REQUEST
    assert coordinator.state() == ShareState(1, 0)
    assert coordinator.write(letters=LETTERS._replace(offsets=((0, DEAD_LETTERS_MAX - 1),))) is None


@pytest.mark.parametrize(
    "batches",
    [
        [StateBatch(0, WINDOW_RECORDS_MAX // 2, DONE, 1)] * 3,
        [StateBatch(0, DELAYED_RECORDS_MAX, DeliveryState.AVAILABLE, 1, 5_000)],
    ],
    ids=["the same offsets again and again", "a time for each of too many"],
)
def test_a_short_write_of_many_records_is_refused(
    coordinator: Coordinator, batches: list[StateBatch]
) -> None:
    coordinator.initialize()
    assert code(coordinator.write(*batches)) is ErrorCode.INVALID_REQUEST
    assert coordinator.state() == ShareState(1, 0)


def test_topics_that_are_deleted_take_their_states_along(coordinator: Coordinator) -> None:
    kept = SharePlace("workers", bytes(16), 0)
    coordinator.topics.add(bytes(16))
    for place in (PLACE, OTHER, kept):
        coordinator.initialize(place)
    coordinator.log.write_all(coordinator.shard.delete_topics({TOPIC}))
    assert list(coordinator.shard) == [kept]
    coordinator.load()
    assert list(coordinator.shard) == [kept]


def test_a_snapshot_follows_so_many_updates() -> None:
    coordinator = Coordinator(updates_per_snapshot=3)
    coordinator.initialize()
    for number in range(3):
        assert coordinator.shard.next_deadline != 0.0
        coordinator.write(done(2 * number))
    coordinator.run_timers()
    assert coordinator.kinds == [SNAPSHOT_KEY, UPDATE_KEY, UPDATE_KEY, UPDATE_KEY, SNAPSHOT_KEY]
    snapshot = decode_snapshot(coordinator.log.records[-1].value or b"")
    assert (snapshot.snapshot_epoch, snapshot.batches) == (1, [done(0), done(2), done(4)])
    assert coordinator.shard.needed_from == 4
    coordinator.write(done(6))
    coordinator.run_timers()
    assert coordinator.kinds[-2:] == [SNAPSHOT_KEY, UPDATE_KEY], "the count begins anew"


def test_a_large_state_waits_until_its_updates_are_as_large() -> None:
    """Else a state of a million records would be written again after every few acknowledgements."""
    coordinator = Coordinator(updates_per_snapshot=3)
    coordinator.initialize()
    coordinator.write(*(done(2 * number) for number in range(20)))
    coordinator.write(done(100))
    coordinator.write(done(102))
    coordinator.run_timers()
    assert coordinator.kinds.count(SNAPSHOT_KEY) == 2
    for number in range(21):
        coordinator.write(done(200 + 2 * number))
        coordinator.run_timers()
        assert coordinator.kinds.count(SNAPSHOT_KEY) == 2
    coordinator.write(done(300))
    coordinator.run_timers()
    assert coordinator.kinds.count(SNAPSHOT_KEY) == 3


def alternating(batches: int) -> StateWrite:
    return StateWrite(1, 0, 0, [done(2 * number) for number in range(batches)])


def test_a_snapshot_that_is_too_large_for_a_record_has_parts() -> None:
    coordinator = Coordinator(updates_per_snapshot=1)
    coordinator.initialize()
    write = alternating(3 * RECORD_BATCHES)
    for part in write.parts():
        assert coordinator.log.write(coordinator.shard.write(PLACE, part)).answer is None
    before = coordinator.shard.needed_from
    values = []
    while coordinator.shard.next_deadline == 0.0:
        records = len(coordinator.log.records)
        coordinator.log.tick()
        assert len(coordinator.log.records) - records == 1, "others get their turn after each part"
        values.append(coordinator.log.records[-1].value or b"")
        if coordinator.shard.next_deadline == 0.0:
            assert coordinator.shard.needed_from == before, "not whole yet"
    first, *rest = values
    parts = [decode_snapshot(first).part, *(decode_update(value).part for value in rest)]
    assert parts == [Part.MORE] * (len(parts) - 1) + [Part.LAST]
    assert len(parts) >= 3
    assert max(map(len, values)) < 256 * 1024
    began = coordinator.shard.needed_from
    assert began == len(coordinator.log.records) - len(parts)
    state = coordinator.state()
    assert state.batches == tuple(write.batches)
    coordinator.load()
    assert (coordinator.state(), coordinator.shard.needed_from) == (state, began)
    del coordinator.log.records[:began]
    coordinator.log.committed_end = 0
    coordinator.load()
    assert coordinator.state() == state, "the parts say everything"


def test_a_snapshot_of_which_parts_are_missing_does_no_harm() -> None:
    coordinator = Coordinator(updates_per_snapshot=1)
    coordinator.initialize()
    for part in alternating(3 * RECORD_BATCHES).parts():
        coordinator.log.write(coordinator.shard.write(PLACE, part))
    state = coordinator.state()
    coordinator.log.tick()
    assert decode_snapshot(coordinator.log.records[-1].value or b"").part is Part.MORE
    coordinator.load()  # after a crash
    assert coordinator.state() == state
    assert coordinator.shard.needed_from == 0
    coordinator.run_timers()
    assert coordinator.shard.needed_from > 0, "the next coordinator writes it again"
    assert coordinator.state() == state


def test_parts_of_a_write_change_only_records_until_the_last() -> None:
    coordinator = Coordinator()
    coordinator.initialize()
    coordinator.write(letters=LETTERS)
    write = alternating(RECORD_BATCHES + 1)._replace(start_offset=7, sequence=3)
    first, last = write.parts()
    coordinator.log.write(coordinator.shard.write(PLACE, first))
    assert (coordinator.state().start_offset, coordinator.state().dead_letters) == (0, LETTERS)
    assert coordinator.log.write(coordinator.shard.write(PLACE, last)).answer is None
    assert (coordinator.state().start_offset, coordinator.state().dead_letters) == (7, None)


def test_a_part_of_a_write_that_arrives_late_is_refused(coordinator: Coordinator) -> None:
    """Its leader gave up on that write between the parts, and sends the parts of the next."""
    coordinator.initialize()
    coordinator.read()

    def part(batch: StateBatch, sequence: int, *, is_partial: bool = True) -> KafkaError | None:
        write = StateWrite(1, 0, 0, (batch,), 0, None, sequence, is_partial)
        return coordinator.log.write(coordinator.shard.write(PLACE, write)).answer

    late = StateBatch(7, 7, DeliveryState.AVAILABLE, 1)
    assert part(done(7), 12) is None
    assert code(part(late, 10)) is ErrorCode.INVALID_REQUEST
    coordinator.load()
    assert code(part(late, 12)) is ErrorCode.INVALID_REQUEST
    assert part(done(9), 13, is_partial=False) is None
    assert coordinator.state().batches == (done(7), done(9))


def test_the_parts_of_one_request_have_one_sequence(coordinator: Coordinator) -> None:
    coordinator.initialize()
    coordinator.read()
    write = alternating(2 * RECORD_BATCHES + 1)._replace(leader_epoch=0, sequence=3)
    for part in write.parts():
        assert coordinator.log.write(coordinator.shard.write(PLACE, part)).answer is None
    for part in write.parts():
        again = coordinator.log.write(coordinator.shard.write(PLACE, part)).answer
        assert (again is None) == part.is_continued  # the coordinator ends a request with the first refusal
    assert coordinator.state().batches == tuple(write.batches)


def test_a_log_that_refuses_a_snapshot_gets_it_later() -> None:
    coordinator = Coordinator(updates_per_snapshot=1)
    coordinator.initialize()
    coordinator.write(done(1))
    coordinator.log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS, 1)
    coordinator.log.tick()
    assert coordinator.kinds == [SNAPSHOT_KEY, UPDATE_KEY]
    deadline = coordinator.shard.next_deadline
    assert deadline is not None
    assert deadline > coordinator.now, "not in a hot loop"
    coordinator.now = deadline
    coordinator.run_timers()
    assert coordinator.kinds == [SNAPSHOT_KEY, UPDATE_KEY, SNAPSHOT_KEY]


def test_an_idle_state_gets_a_new_snapshot_once_it_keeps_many_records_from_being_deleted() -> None:
    coordinator = Coordinator(updates_per_snapshot=2, cold_ms=10_000)
    coordinator.initialize(OTHER)
    coordinator.initialize()
    for number in range(12):
        coordinator.write(done(2 * number), start=2 * number)
        coordinator.run_timers()
    assert coordinator.shard.needed_from == 0
    coordinator.now = 10.0
    coordinator.run_timers()
    assert coordinator.shard.needed_from > 12
    records = len(coordinator.log.records)
    coordinator.now = 50.0
    coordinator.run_timers()
    assert len(coordinator.log.records) == records, "nothing to gain"


def test_a_shard_without_states_needs_nothing(coordinator: Coordinator) -> None:
    assert coordinator.shard.next_deadline is None
    coordinator.initialize()
    coordinator.log.write(coordinator.shard.delete(PLACE))
    assert coordinator.shard.needed_from == 2


def test_a_read_in_parts_says_where_to_go_on(coordinator: Coordinator) -> None:
    coordinator.initialize()
    write = alternating(4000)
    coordinator.log.write(coordinator.shard.write(PLACE, write))
    batches: list[StateBatch] = []
    first: int | None = 0
    parts = 0
    while first is not None:
        answer = coordinator.shard.read(PLACE, 0, first, 100).if_committed
        assert isinstance(answer, StateRead)
        batches += answer.state.batches
        first = answer.rest
        parts += 1
    assert batches == list(write.batches)
    assert parts > 1


def test_records_of_later_versions_are_skipped(coordinator: Coordinator) -> None:
    coordinator.shard.replay(b"\x00\x07whatever", b"x")
    assert list(coordinator.shard) == []
