"""Random operations of several clients against one broker and a model that is obviously right.

Clients take turns as a seed says, on connections of their own; a clean restart is one of the operations.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.log_calls import (
    BY_NAME,
    EARLIEST,
    LATEST,
    create_topic,
    fetch_request,
    offset_at,
    produce,
    produce_request,
    read_all,
)
from tests.faults.odd_requests import E, codes_of, delete_records, grow, new_topic
from tests.faults.raw_client import RawClient, wait_until
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.compression import Codec
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.metadata import MetadataRequest
from tidelog.wire.record import Record, write_batch

STEPS = 700
CLIENTS = 4
NAMES = ["red", "green", "blue"]
TIME = 1_700_000_000_000


class ModelPartition:
    def __init__(self) -> None:
        self.start = 0
        self.records: list[tuple[int, bytes]] = []
        """(time, value) at the offset that is its place in the list."""

    @property
    def end(self) -> int:
        return len(self.records)

    def offset_of_time(self, time: int) -> int:
        found = (n for n, (at, _) in enumerate(self.records) if n >= self.start and at >= time)
        return next(found, -1)


class World:
    def __init__(self, seed: int, broker: Broker) -> None:
        self.rng = random.Random(seed)
        self.broker = broker
        self.topics: dict[str, list[ModelPartition]] = {}
        self.time = TIME
        self.sent = 0
        self.clients: list[RawClient] = []
        self.reconnect()

    def reconnect(self) -> None:
        self.disconnect()
        self.clients = [RawClient(self.broker.port) for _ in range(CLIENTS)]

    def disconnect(self) -> None:
        for client in self.clients:
            client.socket.close()

    @property
    def client(self) -> RawClient:
        return self.rng.choice(self.clients)

    def somewhere(self) -> tuple[str, int, ModelPartition | None]:
        """A partition, which most often exists."""
        name = self.rng.choice(NAMES)
        partitions = self.topics.get(name, [])
        index = self.rng.randint(0, len(partitions)) if self.rng.random() < 0.1 else None
        if index is None:
            index = self.rng.randrange(len(partitions)) if partitions else 0
        return name, index, partitions[index] if index < len(partitions) else None

    def produce(self) -> None:
        name, index, model = self.somewhere()
        made = self._records()
        batch = self._batch(made)
        answer = produce(self.client, name, batch, index=index, acks=self.rng.choice((-1, 1)))
        if model is None:
            assert E(answer.error_code) is E.UNKNOWN_TOPIC_OR_PARTITION
            return
        assert E(answer.error_code) is E.NONE, answer.error_message
        assert answer.base_offset == model.end
        model.records += made
        self._settle(name, index, model)

    def produce_without_acks(self) -> None:
        """Nothing is heard of them; they must be there all the same."""
        name, index, model = self.somewhere()
        if model is None:
            return
        client = self.client
        for _ in range(self.rng.randint(1, 5)):
            made = self._records()
            request = produce_request(name, self._batch(made), index=index, acks=0)
            client.send_request(ApiKey.PRODUCE, BY_NAME, request)
            model.records += made
        self._settle(name, index, model)

    def _settle(self, name: str, index: int, model: ModelPartition) -> None:
        """Records that nobody waited for may be seen once they are synced."""
        client = self.client
        wait_until(lambda: offset_at(client, name, LATEST, index) == model.end, "the end is visible")

    def fetch(self) -> None:
        name, index, model = self.somewhere()
        end = model.end if model else 0
        offset = self.rng.randint(-1, end + 1)
        room = self.rng.choice((1, 200, 5000, 1 << 20))
        answer = self.client.ask(
            ApiKey.FETCH, fetch_request(name, offset, index=index, max_bytes=room), BY_NAME
        )
        [[found]] = [topic.partitions for topic in answer.responses]
        if model is None:
            assert E(found.error_code) is E.UNKNOWN_TOPIC_OR_PARTITION
        elif not model.start <= offset <= model.end:
            assert E(found.error_code) is E.OFFSET_OUT_OF_RANGE
        else:
            assert E(found.error_code) is E.NONE
            assert (found.high_watermark, found.log_start_offset) == (model.end, model.start)
            assert bool(len(found.records)) == (offset < end)

    def read_everything(self) -> None:
        name, index, model = self.somewhere()
        if model is not None:
            found = [(r.offset, r.timestamp, r.value) for r in read_all(self.client, name, index)]
            wanted = [(n, *record) for n, record in enumerate(model.records) if n >= model.start]
            assert found == wanted

    def look_up(self) -> None:
        name, index, model = self.somewhere()
        if model is not None:
            client = self.client
            assert offset_at(client, name, EARLIEST, index) == model.start
            assert offset_at(client, name, LATEST, index) == model.end
            time = self.rng.randint(TIME - 5, self.time + 5)
            assert offset_at(client, name, time, index) == model.offset_of_time(time)

    def delete_some_records(self) -> None:
        name, index, model = self.somewhere()
        before = self.rng.randint(-1, (model.end if model else 0) + 1)
        codes = codes_of(self.client.ask(ApiKey.DELETE_RECORDS, delete_records(name, index, before)))
        if model is None:
            assert codes == [E.UNKNOWN_TOPIC_OR_PARTITION]
        elif before > model.end:
            assert codes == [E.OFFSET_OUT_OF_RANGE]
        else:
            assert codes == [E.NONE]
            model.start = max(model.start, model.end if before == -1 else before)

    def create(self) -> None:
        name = self.rng.choice(NAMES)
        if name in self.topics:
            assert codes_of(self.client.ask(ApiKey.CREATE_TOPICS, new_topic(name))) == [
                E.TOPIC_ALREADY_EXISTS
            ]
            return
        count = self.rng.randint(1, 3)
        create_topic(self.client, name, count, segment_bytes="4096", index_interval_bytes="200")
        self.topics[name] = [ModelPartition() for _ in range(count)]

    def add_partitions(self) -> None:
        name = self.rng.choice(NAMES)
        if name in self.topics and len(self.topics[name]) < 5:
            count = len(self.topics[name]) + 1
            assert codes_of(self.client.ask(ApiKey.CREATE_PARTITIONS, grow(name, count))) == [E.NONE]
            self.topics[name].append(ModelPartition())

    def delete(self) -> None:
        name = self.rng.choice(NAMES)
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])
        known = self.topics.pop(name, None) is not None
        wanted = E.NONE if known else E.UNKNOWN_TOPIC_OR_PARTITION
        assert codes_of(self.client.ask(ApiKey.DELETE_TOPICS, request)) == [wanted]

    def describe(self) -> None:
        answer = self.client.ask(ApiKey.METADATA, MetadataRequest(topics=None))
        found = {topic.name: len(topic.partitions) for topic in answer.topics}
        assert found == {name: len(partitions) for name, partitions in self.topics.items()}

    def restart(self) -> None:
        self.broker.restart()
        self.reconnect()

    def _records(self) -> list[tuple[int, bytes]]:
        made = []
        for _ in range(self.rng.randint(1, 6)):
            self.time += self.rng.randint(0, 3)
            self.sent += 1
            made.append((self.time, b"%d" % self.sent * self.rng.randint(1, 40)))
        return made

    def _batch(self, made: list[tuple[int, bytes]]) -> bytearray:
        records = [Record(n, time, None, value) for n, (time, value) in enumerate(made)]
        return write_batch(records, codec=self.rng.choice(list(Codec)))


@pytest.mark.usefixtures("no_failures")
@pytest.mark.parametrize("seed", [1, 2])
def test_the_broker_does_as_the_model(seed: int, tmp_path: Path) -> None:
    settings = {"auto.create.topics.enable": False, "durability": "fsync" if seed % 2 else "os"}
    # Times are not of today; nothing may be too old to be kept.
    with Broker(settings={**settings, "log.retention.ms": -1}, data_dir=tmp_path) as broker:
        world = World(seed, broker)
        weights: dict[Callable[[], None], int] = {
            world.produce: 40,
            world.produce_without_acks: 10,
            world.fetch: 20,
            world.read_everything: 5,
            world.look_up: 15,
            world.delete_some_records: 4,
            world.create: 4,
            world.add_partitions: 2,
            world.delete: 1,
            world.describe: 3,
            world.restart: 1,
        }
        try:
            steps = world.rng.choices(list(weights), list(weights.values()), k=STEPS)
            for number, step in enumerate([world.create, *steps, world.restart, world.describe]):
                try:
                    step()
                except AssertionError as error:
                    raise AssertionError(f"seed {seed}, step {number}: {step.__name__}") from error
        finally:
            world.disconnect()
