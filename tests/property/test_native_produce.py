"""The compiled produce path against its reference: the same requests to two brokers on real files.

After each step the answers, the bytes of the logs and every slot of the partition must be equal.
"""

import os
import random
import tempfile
from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rigs.log import NOW_MS
from tests.rigs.mutated_frames import mutated_batch, mutated_frame, with_length
from tests.rigs.native import compiled_produce
from tests.rigs.partition import sole_leader
from tests.rigs.virtual_time import run
from tidelog.base.disk import PosixDisk
from tidelog.broker.native.plain_produce import Produce
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.produce_shortcut import CompiledMatcher, ProduceShortcut
from tidelog.broker.requests.routes import Routes
from tidelog.replication.follower_progress import Position
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.producers.producers import Producers
from tidelog.wire.apis import ApiKey
from tidelog.wire.batch import ATTRIBUTES_AT, CRC_AT, MAX_TIMESTAMP_AT, BatchHeader
from tidelog.wire.frame import write_request
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

PRODUCER, EPOCHS, SEQUENCES = 4, 2, 12


class Watcher:
    def __init__(self) -> None:
        self.heard: list[int] = []

    def on_bytes(self, count: int) -> None:
        self.heard.append(count)


class Side:
    """A broker with one partition; `compiled` counts the requests that C served."""

    def __init__(
        self, directory: str, config: LogConfig, durability: Durability, produce: Produce | None
    ) -> None:
        self.directory, self.now_ms, self.compiled = directory, NOW_MS, 0
        self.log = PartitionLog.open(PosixDisk(), f"{directory}/orders-0", config, now_ms=NOW_MS)
        self.unsynced = 0
        self.partition = sole_leader(self.log, durability=durability, on_unsynced=self._on_unsynced)
        services: Any = SimpleNamespace(
            clock=SimpleNamespace(now_ms=lambda: self.now_ms),
            partitions=SimpleNamespace(find=lambda *_: self.partition, note_refused=lambda *_: None),
            throttle=None,
            inter_broker_listener="BROKERS",
            authorizer=None,
            count_error=None,
            written_by_brokers=frozenset(),
        )
        self.services, self._produce = services, produce
        shortcut = ProduceShortcut(services, None if produce is None else self._counted)
        self.dispatcher = Dispatcher(services, Routes({ApiKey.PRODUCE: shortcut}))
        self.dispatcher.is_open = True
        self.client = ClientConnection("192.0.2.1", 5555, "PLAINTEXT")
        self.waiting: list[Any] = []
        self.watcher = Watcher()

    def _on_unsynced(self, _: Partition) -> None:
        self.unsynced += 1

    def _counted(self, *arguments: Any) -> Any:
        assert self._produce is not None
        done = self._produce(*arguments)
        self.compiled += done is not None
        return done

    def send(self, frame: bytes) -> object:
        return self.dispatch(memoryview(bytearray(frame)))

    def dispatch(self, frame: memoryview) -> object:
        reply: Any = self.dispatcher.dispatch(frame, self.client)
        if reply is None:
            return None
        if hasattr(reply, "parts"):
            return self._bytes_of(reply)
        self.waiting.append(reply)
        return type(reply).__name__

    def _bytes_of(self, reply: Any) -> bytes:
        """Without the directory, which errors of the disk name."""
        return b"".join(reply.parts).replace(self.directory.encode(), b"")

    def late(self) -> list[object]:
        return [self._bytes_of(reply.result()) if reply.done() else None for reply in self.waiting]

    def state(self) -> dict[str, object]:
        files = {path.name: path.read_bytes() for path in Path(self.directory).rglob("*.log")}
        seen = {"files": files, "heard": self.watcher.heard, "late": self.late(), "unsynced": self.unsynced}
        return seen | dict(slots_of(self.partition, "partition", self.directory, set()))


OWN_TO_A_SIDE = {"_fd", "_on_unsynced", "__weakref__", "append", "roll", "append_as_follower"}


def slots_of(value: Any, path: str, directory: str, seen: set[int]) -> Iterator[tuple[str, object]]:
    """Every slot below `value`, under its path, but what two brokers cannot have in common."""
    kind = type(value)
    if value is None or isinstance(value, str | int | float | bytes):
        yield path, (kind.__name__, value.replace(directory, "") if isinstance(value, str) else value)
    elif isinstance(value, dict):
        for number, (key, one) in enumerate(value.items()):
            name = key if isinstance(key, str | int) else number  # others are objects of a side
            yield from slots_of(one, f"{path}[{name}]".replace(directory, ""), directory, seen)
    elif isinstance(value, tuple | list | deque | array):
        yield path, (kind.__name__, len(value))
        for number, one in enumerate(value):
            yield from slots_of(one, f"{path}[{number}]", directory, seen)
    elif kind.__module__.startswith("tidelog.") and id(value) not in seen:
        seen.add(id(value))
        slots = {name for one in kind.__mro__ for name in getattr(one, "__slots__", ())}
        for name in sorted((slots | set(getattr(value, "__dict__", ()))) - OWN_TO_A_SIDE):
            yield from slots_of(getattr(value, name, "unset"), f"{path}.{name}", directory, seen)
    else:
        yield path, kind.__name__


def differences(sides: tuple[Side, Side]) -> dict[str, object]:
    python, compiled = (side.state() for side in sides)
    return {
        path: (python.get(path), compiled.get(path))
        for path in python.keys() | compiled.keys()
        if python.get(path) != compiled.get(path)
    }


def frame(records: bytes, acks: int, correlation_id: int) -> bytes:
    topic = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=records)])
    request = ProduceRequest(acks=acks, timeout_ms=60_000, topic_data=[topic])
    return b"".join(write_request(ApiKey.PRODUCE, 12, correlation_id, "app", request))[4:]


def batch(
    size: int = 100, count: int = 1, timestamp: int = NOW_MS, key: bytes | None = b"k", **options: int
) -> bytes:
    return bytes(write_batch([Record(n, timestamp, key, bytes(size), []) for n in range(count)], **options))


def flipped(whole: bytes, bit: int, *, crc_fits: bool) -> bytes:
    changed = bytearray(whole)
    changed[bit // 8] ^= 1 << bit % 8
    if crc_fits:
        changed[CRC_AT:ATTRIBUTES_AT] = crc32c(changed[ATTRIBUTES_AT:]).to_bytes(4, "big")
    return bytes(changed)


@contextmanager
def two_sides(config: LogConfig, durability: Durability) -> Iterator[tuple[Side, Side]]:
    with ExitStack() as opened:
        folders = [opened.enter_context(tempfile.TemporaryDirectory()) for _ in range(2)]
        yield (
            Side(folders[0], config, durability, None),
            Side(folders[1], config, durability, compiled_produce()),
        )


# What happens between requests. Each is done to both sides.


def sync(side: Side) -> None:
    flush = side.log.begin_flush() if side.log.offline is None else None
    if flush is not None:
        flush.run()
        side.log.finish_flush(flush)
        side.partition.advance()


def follow(side: Side) -> None:
    side.partition.mark.limits = (Position(side.log.end),)


def catch_up(side: Side) -> None:
    for limit in side.partition.mark.limits:
        limit.end = side.log.end
    side.partition.advance()


def leave(side: Side) -> None:
    side.partition.mark.limits = ()
    side.partition.advance()


def watch(side: Side) -> None:
    side.partition.watchers.add(side.watcher)


def watch_as_follower(side: Side) -> None:
    side.partition.watchers.add_follower(side.watcher)


def unwatch(side: Side) -> None:
    side.partition.watchers.remove(side.watcher)


def roll(side: Side) -> None:
    if side.log.offline is None:
        side.log.roll(side.now_ms)


def next_epoch(side: Side) -> None:
    side.partition.leader_epoch += 1


def shrink_isr(side: Side) -> None:
    side.partition.isr = ()


def restore_isr(side: Side) -> None:
    side.partition.isr = (1,)


def depose(side: Side) -> None:
    side.partition.is_leader = not side.partition.is_leader


def an_hour_later(side: Side) -> None:
    side.now_ms += 3_600_000


def read_only(side: Side) -> None:
    """Writes to the active segment fail from now on."""
    file: Any = side.log.segment_list.active.file
    os.close(file._fd)
    file._fd = os.open(file.path, os.O_RDONLY)


def wait_for_sync(side: Side) -> None:
    side.partition.when_synced(lambda: None)


def wait_for_commit(side: Side) -> None:
    if side.partition.is_leader and side.log.offline is None:
        side.partition.when_committed(side.log.end + 1, lambda _: None)


def settings_of(**changes: Any) -> Any:
    def configure(side: Side) -> None:
        side.log.configure(replace(side.log.config, **changes))

    configure.__name__ = f"configure {changes}"
    return configure


CHANGES = [
    *(
        sync,
        follow,
        catch_up,
        leave,
        watch,
        watch_as_follower,
        unwatch,
        roll,
        next_epoch,
        shrink_isr,
        restore_isr,
    ),
    *(depose, an_hour_later, read_only, wait_for_sync, wait_for_commit),
    *(settings_of(max_message_bytes=size) for size in (300, 1_048_588)),
    *(settings_of(log_append_time=on) for on in (True, False)),
    *(settings_of(compact=on) for on in (True, False)),
    *(settings_of(flush_messages=count) for count in (3, 2**63 - 1)),
    *(settings_of(segment_bytes=size) for size in (2_000, 1 << 30)),
    *(settings_of(segment_ms=ms) for ms in (1_000, 7 * 86_400_000)),
    *(settings_of(timestamp_before_max_ms=ms) for ms in (1_000, 2**63 - 1)),
    *(settings_of(index_bytes_max=size) for size in (48, 10 << 20)),
]

batches = st.builds(
    batch,
    size=st.sampled_from([0, 100, 100, 100, 5_000]),
    count=st.sampled_from([1, 1, 2, 7]),
    key=st.sampled_from([b"k", b"k", None]),
    timestamp=st.sampled_from([NOW_MS, NOW_MS, NOW_MS + 5, NOW_MS - 90_000_000, NOW_MS + 9_000_000, -1]),
    codec=st.sampled_from([0, 0, 0, 1, 4]),
    log_append_time=st.just(None),
)
of_producers = st.builds(
    batch,
    count=st.sampled_from([1, 2]),
    producer_id=st.just(PRODUCER),
    producer_epoch=st.integers(0, EPOCHS - 1),
    base_sequence=st.integers(0, SEQUENCES),
    transactional=st.sampled_from([False, False, False, True]),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    whole = draw(batches | of_producers)
    return flipped(whole, draw(st.integers(0, 8 * 70)), crc_fits=draw(st.booleans()))


sends = st.tuples(
    st.just("send"), batches | batches | of_producers | of_producers | damaged(), st.sampled_from([1, 1, -1])
)
changes = st.tuples(st.just("change"), st.sampled_from(CHANGES))
configs = st.builds(
    LogConfig,
    index_interval_bytes=st.sampled_from([100, 600]),
    index_bytes_max=st.sampled_from([48, 10 << 20, 10 << 20]),
    segment_bytes=st.sampled_from([1_500, 1 << 30, 1 << 30]),
    segment_ms=st.sampled_from([3, 7 * 86_400_000, 7 * 86_400_000]),
)
durabilities = st.sampled_from([Durability.OS, Durability.OS, Durability.FSYNC])


@settings(max_examples=120, deadline=None)
@given(st.lists(sends | sends | sends | changes, max_size=40), durabilities, configs)
def test_both_paths_do_the_same(steps: list[Any], durability: Durability, config: LogConfig) -> None:
    async def main() -> None:
        with two_sides(config, durability) as sides:
            for acks in (1, -1):  # the fronts are known from here on
                answers = [side.send(frame(batch(), acks, 0)) for side in sides]
                assert answers[0] == answers[1]
            for number, (kind, what, *acks) in enumerate(steps):
                if kind == "send":
                    answers = [side.send(frame(what, acks[0], number)) for side in sides]
                    assert answers[0] == answers[1]
                else:
                    for side in sides:
                        what(side)
                assert differences(sides) == {}

    run(main())


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("durability", [Durability.OS, Durability.FSYNC])
def test_plain_requests_are_served_by_compiled_code(acks: int, durability: Durability) -> None:
    async def main() -> None:
        with two_sides(LogConfig(), durability) as sides:
            for number in range(2_000):  # the newest batches are forgotten by halves, by Python
                numbered = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": number // 2}
                records = batch(**(numbered if number % 2 else {}))
                answers = [side.send(frame(records, acks, number)) for side in sides]
                assert answers[0] == answers[1]
            assert differences(sides) == {}
            assert sides[1].compiled >= 1_990

    run(main())


def test_a_frame_that_is_cut_or_longer_is_refused_alike() -> None:
    whole = frame(batch(), 1, 7)
    with two_sides(LogConfig(), Durability.OS) as sides:
        for side in sides:
            side.send(whole)
        for length in range(len(whole) + 2):
            given = (whole + b"\1\0")[:length]
            outcomes = []
            for side in sides:
                try:
                    outcomes.append(side.send(given))
                except Exception as error:
                    outcomes.append((type(error), str(error)))
            assert outcomes[0] == outcomes[1]
        assert differences(sides) == {}


@pytest.mark.parametrize("crc_fits", [False, True])
def test_a_batch_with_a_flipped_bit_has_the_same_end(crc_fits: bool) -> None:
    with two_sides(LogConfig(), Durability.OS) as sides:
        for bit in range(8 * 70):
            number = bit // 2  # accepted ones go on with the sequence
            whole = batch(20, producer_id=PRODUCER, producer_epoch=0, base_sequence=number)
            for records in (whole, flipped(whole, bit, crc_fits=crc_fits)):
                answers = [side.send(frame(records, 1, bit)) for side in sides]
                assert answers[0] == answers[1], bit
        assert differences(sides) == {}


def of_times(*timestamps: int) -> bytes:
    return bytes(write_batch([Record(n, at, b"k", b"v", []) for n, at in enumerate(timestamps)]))


@pytest.mark.parametrize(
    "records",
    [
        *(flipped(batch(codec=4), 8 * (ATTRIBUTES_AT + 1) + bit, crc_fits=True) for bit in range(2)),
        of_times(NOW_MS, NOW_MS + 9_000_000),
        of_times(NOW_MS - 90_000_000, NOW_MS),
        batch() * 2,
        batch() + b"x",
    ],
    ids=["codec 5", "codec 6", "one too new", "one too old", "two batches", "a byte more"],
)
def test_an_odd_batch_has_the_same_end(records: bytes) -> None:
    with two_sides(LogConfig(timestamp_before_max_ms=1_000), Durability.OS) as sides:
        for side in sides:
            side.send(frame(batch(), 1, 6))
        answers = [side.send(frame(records, 1, 7)) for side in sides]
        assert answers[0] == answers[1]
        assert sides[1].compiled == 0
        assert differences(sides) == {}


def test_a_frame_with_a_flipped_bit_has_the_same_end() -> None:
    whole = frame(batch(20), 1, 7)
    with two_sides(LogConfig(), Durability.OS) as sides:
        for side in sides:
            side.send(whole)
        for bit in range(8 * len(whole)):
            outcomes = []
            for side in sides:
                try:
                    outcomes.append(side.send(flipped(whole, bit, crc_fits=False)))
                except Exception as error:
                    outcomes.append((type(error), str(error)))
            assert outcomes[0] == outcomes[1], bit
        assert differences(sides) == {}


@pytest.mark.parametrize("durability", [Durability.OS, Durability.FSYNC])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_between_requests_counts_for_both(change: Any, durability: Durability) -> None:
    async def main() -> None:
        with two_sides(LogConfig(), durability) as sides:
            for between in (sync, change, sync, change):
                for key, acks in ((b"k", 1), (b"k", -1), (None, 1)):
                    answers = [side.send(frame(batch(key=key), acks, 7)) for side in sides]
                    assert answers[0] == answers[1]
                for side in sides:
                    between(side)
                assert differences(sides) == {}

    run(main())


@pytest.mark.parametrize(
    "config",
    [
        LogConfig(segment_bytes=1_500),
        LogConfig(segment_ms=20),
        LogConfig(index_bytes_max=80, index_interval_bytes=200),
        LogConfig(flush_messages=5),
    ],
    ids=["bytes", "time", "index", "flush"],
)
@pytest.mark.parametrize("step_ms", [0, 1])
def test_segments_roll_at_the_same_places(config: LogConfig, step_ms: int) -> None:
    with two_sides(config, Durability.OS) as sides:
        for number in range(100):
            records = batch(timestamp=NOW_MS + number * step_ms)
            answers = [side.send(frame(records, 1, number)) for side in sides]
            assert answers[0] == answers[1]
            for side in sides:
                side.now_ms += step_ms
        assert differences(sides) == {}
        assert sides[1].compiled > 40


def test_times_may_lie_apart_by_more_than_a_number_holds() -> None:
    """A client chooses them: `max_timestamp - first_timestamp` once wrapped around in C."""
    with two_sides(LogConfig(), Durability.OS) as sides:
        for side in sides:
            side.send(frame(batch(timestamp=NOW_MS + 9), 1, 6))
        records = bytearray(batch())
        records[MAX_TIMESTAMP_AT : MAX_TIMESTAMP_AT + 8] = (NOW_MS - 2**63 + 1).to_bytes(
            8, "big", signed=True
        )
        records[CRC_AT:ATTRIBUTES_AT] = crc32c(records[ATTRIBUTES_AT:]).to_bytes(4, "big")
        answers = [side.send(frame(bytes(records), 1, 7)) for side in sides]
        assert answers[0] == answers[1]
        assert sides[1].compiled == 1
        assert differences(sides) == {}


@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_frame_has_the_same_end(seed: int) -> None:
    run(send_mutated(random.Random(seed), 150))


async def send_mutated(rng: random.Random, count: int) -> int:
    """Returns how many requests compiled code served. `native_fuzz` does it for longer, with sanitizers."""
    config = LogConfig(timestamp_after_max_ms=rng.choice([3_600_000, 2**63 - 1]), index_interval_bytes=600)
    durability = rng.choice([Durability.OS, Durability.FSYNC])
    with two_sides(config, durability) as sides:
        for acks in (1, -1):
            for side in sides:
                side.send(frame(batch(timestamp=NOW_MS + 9), acks, 0))
        other = frame(batch(), 1, 0)
        for number in range(count):
            numbered = {
                "producer_id": PRODUCER,
                "producer_epoch": 0,
                "base_sequence": rng.randrange(SEQUENCES),
            }
            whole = batch(rng.choice([0, 100, 3_000]), rng.choice([1, 7]), **(numbered if number % 2 else {}))
            if rng.random() < 0.5:
                whole = mutated_batch(rng, whole, NOW_MS)
            given = frame(whole, rng.choice([1, -1]), number)
            if rng.random() < 0.1:
                given = with_length(rng, given, len(whole))
            if rng.random() < 0.3:
                given = mutated_frame(rng, given, other)
            outcomes = [outcome_of(side, given, rng.randrange(8)) for side in sides]
            assert outcomes[0] == outcomes[1], given.hex()
            other = given or other
        assert differences(sides) == {}
        return sides[1].compiled


def outcome_of(side: Side, given: bytes, offset: int) -> object:
    """At any place in memory."""
    buffer = bytearray(offset) + given
    before, view = side.compiled, memoryview(buffer)[offset:]
    try:
        return side.dispatch(view)
    except Exception as error:
        return type(error), str(error)
    finally:
        view.release()
        if side.compiled > before:
            buffer.append(0)  # nothing holds on to a request that was served


def test_a_frame_that_cannot_be_written_to_has_the_same_end() -> None:
    with two_sides(LogConfig(), Durability.OS) as sides:
        outcomes = []
        for side in sides:
            side.send(frame(batch(), 1, 6))
            with pytest.raises(TypeError) as raised:
                side.dispatch(memoryview(frame(batch(), 1, 7)))
            outcomes.append(str(raised.value))
        assert outcomes[0] == outcomes[1]
        assert differences(sides) == {}


def test_an_interrupt_is_not_swallowed() -> None:
    """After any other exception Python looks at the same once more."""
    interrupts: list[type[BaseException]] = [KeyboardInterrupt]

    def find(*_: object) -> Partition:
        if interrupts:
            raise interrupts.pop()
        return side.partition

    with two_sides(LogConfig(), Durability.OS) as (_, side):
        side.send(frame(batch(), 1, 6))
        side.services.partitions.find = find
        with pytest.raises(KeyboardInterrupt):
            side.send(frame(batch(), 1, 7))


def test_a_file_that_is_let_go_of_meanwhile_is_open_until_the_batch_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another file may get the number of its descriptor."""
    with two_sides(LogConfig(), Durability.OS) as (_, side), ExitStack() as opened:
        side.send(frame(batch(), 1, 6))
        active, check = side.log.segment_list.active, Producers.check
        size = active.size
        other = Path(side.directory) / "other"

        def check_and_let_go(producers: Producers, header: BatchHeader) -> object:
            active.cool()
            opened.enter_context(other.open("wb"))
            return check(producers, header)

        monkeypatch.setattr(Producers, "check", check_and_let_go)
        given = batch(producer_id=PRODUCER, producer_epoch=0, base_sequence=0)
        assert side.send(frame(given, 1, 7)) is not None
        assert (side.compiled, other.read_bytes()) == (1, b"")
        assert active.file.size() == active.size == size + len(given)


def test_the_fast_path_is_the_compiled_one() -> None:
    with two_sides(LogConfig(), Durability.OS) as (_, side):
        side.send(frame(batch(), 1, 7))
        path: Any = side.client.fast_path
        assert isinstance(path.__self__, CompiledMatcher)
