"""The share coordinator against a dict per offset: random requests, crashes, loads and deleted prefixes."""

import random
from typing import NamedTuple

import pytest

from tests.rigs.shard_log import ShardLog
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.shares.place import SharePlace
from tidelog.shares.state import snapshots as due_snapshots
from tidelog.shares.state import stored
from tidelog.shares.state.requests import StateRead, StateSummary, StateWrite
from tidelog.shares.state.settings import ShareStateSettings
from tidelog.shares.state.shard import ShareStateShard
from tidelog.shares.states import AT_ONCE, DeadLetterWrite, DeliveryState, StateBatch

TOPIC = bytes(range(16))
PLACES = [SharePlace("a", TOPIC, 0), SharePlace("b", TOPIC, 0), SharePlace("b", TOPIC, 1)]
STATES = [
    DeliveryState.AVAILABLE,
    DeliveryState.ACKNOWLEDGED,
    DeliveryState.ACKNOWLEDGED,
    DeliveryState.ARCHIVING,
    DeliveryState.ARCHIVED,
]
LETTERS = [None, None, DeadLetterWrite(7, 0, 5, bytes(16), 2, ((3, 4), (8, 8)))]


class Stored(NamedTuple):
    state: DeliveryState
    count: int
    due: int


class NaiveState:
    def __init__(self, state_epoch: int, start: int, leader_epoch: int = -1) -> None:
        self.state_epoch, self.start, self.leader_epoch = state_epoch, start, leader_epoch
        self.records: dict[int, Stored] = {}
        self.letters: DeadLetterWrite | None = None
        self.delivered = 0 if start >= 0 else -1

    def write(self, write: StateWrite) -> None:
        self.leader_epoch = max(self.leader_epoch, write.leader_epoch)
        self.start = max(self.start, write.start_offset)
        for first, last, state, count, due in write.batches:
            self.records.update((n, Stored(state, count, due)) for n in range(first, last + 1))
        self.records = {n: one for n, one in self.records.items() if n >= self.start}
        self.letters, self.delivered = write.dead_letters, write.delivery_complete_count


def random_batches(rng: random.Random, start: int) -> list[StateBatch]:
    batches, at = [], start + rng.choice((-50, 0, 0, 0, 2000, 4090))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 40))):
        first = max(0, at + rng.choice((0, 1, 1, 2, 300)))
        last = first + rng.choice((0, 0, 0, 0, 1, 1, 5, 5, 20, 2500))
        state = rng.choice(STATES)
        due = rng.choice((AT_ONCE, 1000, 2000)) if state is DeliveryState.AVAILABLE else AT_ONCE
        batches.append(StateBatch(first, last, state, rng.randrange(6), due))
        at = last + 1
    return batches


class Run:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0
        self.log: ShardLog[ShareStateShard] = ShardLog(lambda: (self.now, int(self.now * 1000)))
        self.settings = ShareStateSettings(self.rng.choice((0, 3, 20)), 10_000)
        self.naive: dict[SharePlace, NaiveState] = {}
        self.sequence = 0
        self.first = 0
        """The offset of the first record that is left of the log."""
        self.load()

    @property
    def shard(self) -> ShareStateShard:
        return self.log.shard

    def load(self) -> None:
        shard = ShareStateShard(self.settings, lambda topic, partition: True)
        shard.next_offset = self.first
        self.log.load(shard)

    def step(self) -> None:
        place = self.rng.choice(PLACES)
        kind = self.rng.choices(
            ("write", "read", "initialize", "delete", "load", "prune", "tick"), (20, 3, 1, 0.3, 1, 2, 5)
        )[0]
        getattr(self, kind)(*((place,) if kind in ("write", "read", "initialize", "delete") else ()))
        self.check([place] if self.rng.random() < 0.9 else PLACES)

    def write(self, place: SharePlace) -> None:
        self.sequence += 1
        known = self.naive.get(place)
        start = known.start if known else 0
        moved = max(0, start + self.rng.choice((-5, 0, 0, 0, 1, 100, 3000)))
        leader_epoch = (known.leader_epoch if known else 0) + self.rng.choice((-1, 0, 0, 0, 0, 0, 1))
        state_epoch = (known.state_epoch if known else 0) + self.rng.choice((-1, 0, 0, 0, 0, 0))
        write = StateWrite(
            state_epoch,
            leader_epoch,
            moved,
            random_batches(self.rng, max(moved, start)),
            self.rng.randrange(100),
            self.rng.choice(LETTERS),
            self.sequence,
        )
        for part in write.parts():
            answer = self.log.write(self.shard.write(place, part)).answer
        if known is None:
            assert isinstance(answer, KafkaError)
            assert answer.code is ErrorCode.INVALID_REQUEST
        elif -1 != leader_epoch < known.leader_epoch:
            assert isinstance(answer, KafkaError)
            assert answer.code is ErrorCode.FENCED_LEADER_EPOCH
        elif -1 != state_epoch < known.state_epoch or leader_epoch > known.leader_epoch:
            assert isinstance(answer, KafkaError)
            assert answer.code is ErrorCode.FENCED_STATE_EPOCH
        else:
            assert answer is None
            known.write(write)

    def read(self, place: SharePlace) -> None:
        known = self.naive.get(place)
        epoch = max(0, known.leader_epoch if known else 0) + self.rng.choice((0, 1, 2))
        answer = self.log.write(self.shard.read(place, epoch)).answer
        assert isinstance(answer, StateRead) == (known is not None)
        if known is not None:
            known.leader_epoch = epoch

    def initialize(self, place: SharePlace) -> None:
        known = self.naive.get(place)
        epoch = (known.state_epoch if known else 0) + self.rng.choice((0, 1))
        start = self.rng.choice((-1, 0, 5000))
        assert self.log.write(self.shard.initialize(place, epoch, start, int(self.now * 1000))).answer is None
        if known is None or epoch > known.state_epoch:
            self.naive[place] = NaiveState(epoch, start, known.leader_epoch if known else -1)

    def delete(self, place: SharePlace) -> None:
        assert self.log.write(self.shard.delete(place)).answer is None
        self.naive.pop(place, None)

    def prune(self) -> None:
        """Delete what a load does not need."""
        needed = self.shard.needed_from
        assert self.first <= needed <= self.shard.next_offset
        del self.log.records[: needed - self.first]
        self.log.committed_end = len(self.log.records)
        self.first = needed

    def tick(self) -> None:
        self.now += self.rng.choice((0.0, 0.0, 1.0, 11.0))
        deadline = self.shard.next_deadline
        if deadline is not None and deadline <= self.now:
            self.log.tick()

    def check(self, places: list[SharePlace] = PLACES) -> None:
        assert set(self.shard) == set(self.naive)
        for place in places:
            known = self.naive.get(place)
            if known is None:
                continue
            answer = self.shard.read(place, -1).if_committed
            assert isinstance(answer, StateRead)
            state = answer.state
            assert (state.state_epoch, state.start_offset) == (known.state_epoch, known.start)
            assert state.dead_letters == known.letters
            told = {
                n: Stored(*batch[2:])
                for batch in state.batches
                for n in range(batch.first_offset, batch.last_offset + 1)
            }
            assert told == known.records
            edges = [edge for batch in state.batches for edge in batch[:2]]
            assert edges == sorted(edges)
            assert self.shard.summary(place).if_committed == StateSummary(
                known.state_epoch, max(0, known.leader_epoch), known.start, known.delivered
            )


@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_a_dict_per_offset(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:  # snapshots in many parts
        monkeypatch.setattr(stored, "RECORD_BATCHES", 3)
        monkeypatch.setattr(due_snapshots, "RECORD_BATCHES", 3)
    run = Run(seed)
    for _ in range(120):
        run.step()
    run.load()
    run.check()
    run.prune()
    run.load()
    run.check()
