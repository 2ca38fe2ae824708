"""The Python client in consumer groups: sharing, committing, rebalancing, with both group protocols."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.interop.client_examples import Example, examples
from tidelog import (
    AckMode,
    Admin,
    AdminConfig,
    AssignmentStrategy,
    AsyncConsumer,
    CommitRefused,
    Consumer,
    ConsumerConfig,
    GroupError,
    GroupNotEmpty,
    GroupProtocol,
    GroupState,
    GroupType,
    MemberFenced,
    OffsetAndMetadata,
    OffsetOutOfRange,
    OffsetResetPolicy,
    PollIntervalExceeded,
    Producer,
    ProducerConfig,
    TopicPartition,
    UnknownGroup,
    UnknownTopic,
    text_deserializer,
)

PATIENCE_S = 40.0

PROTOCOLS: dict[str, dict[str, Any]] = {
    "classic-range": {"assignment_strategy": AssignmentStrategy.RANGE, "heartbeat_interval_ms": 100},
    "classic-cooperative": {
        "assignment_strategy": AssignmentStrategy.COOPERATIVE_STICKY,
        "heartbeat_interval_ms": 100,
    },
    "consumer": {"group_protocol": GroupProtocol.CONSUMER},
}
each_protocol = pytest.mark.parametrize("protocol", list(PROTOCOLS))


@pytest.fixture
def servers(broker_address: str) -> list[str]:
    return [broker_address]


@pytest.fixture
def group(topic_name: str) -> str:
    return f"group-{topic_name}"


@pytest.fixture
def settings(servers: list[str], group: str) -> Callable[..., ConsumerConfig]:
    def make(protocol: str = "classic-range", **fields: Any) -> ConsumerConfig:
        usual = {"auto_offset_reset": OffsetResetPolicy.EARLIEST, "fetch_max_wait_ms": 50}
        return ConsumerConfig(
            bootstrap_servers=servers, group_id=group, **(usual | PROTOCOLS[protocol] | fields)
        )

    return make


@pytest.fixture
def admin(servers: list[str]) -> Iterator[Admin]:
    with Admin(AdminConfig(bootstrap_servers=servers)) as client:
        yield client


def write(servers: list[str], topic: str, *values: str, partition: int | None = 0) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        for value in values:
            producer.send(topic, value, partition=partition)


def read(consumer: Consumer[Any, Any], count: int) -> list[Any]:
    messages: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(messages) < count and time.monotonic() < deadline:
        messages += consumer.poll(timeout_ms=200)
    assert len(messages) >= count, f"{len(messages)} of {count} messages within {PATIENCE_S} s"
    return messages


def poll_until(done: Callable[[], bool], *consumers: Consumer[Any, Any]) -> list[Any]:
    seen = []
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline
        for consumer in consumers:
            seen += consumer.poll(timeout_ms=50)
    return seen


async def until(done: Callable[[], bool]) -> None:
    while not done():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


@each_protocol
def test_a_group_goes_on_where_it_stopped(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig], protocol: str
) -> None:
    write(servers, topic, *"abc")
    with Consumer(settings(protocol), value_deserializer=text_deserializer) as consumer:
        consumer.subscribe([topic])
        assert [message.value for message in read(consumer, 3)] == ["a", "b", "c"]
    write(servers, topic, "d")
    with Consumer(settings(protocol), value_deserializer=text_deserializer) as consumer:
        consumer.subscribe([topic])
        assert [message.value for message in read(consumer, 1)] == ["d"]


def test_a_block_that_raised_gets_its_last_messages_again(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig]
) -> None:
    write(servers, topic, *"abc")

    def fail_at_b() -> None:
        with Consumer(settings()) as consumer:
            consumer.subscribe([topic])
            for message in consumer:
                if message.value == b"b":
                    raise KeyError

    with pytest.raises(KeyError):
        fail_at_b()
    with Consumer(settings()) as consumer:
        consumer.subscribe([topic])
        assert [message.value for message in read(consumer, 2)] == [b"b", b"c"]


def test_handled_messages_are_committed_in_the_background(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig], admin: Admin, group: str
) -> None:
    write(servers, topic, *"abc")
    place = TopicPartition(topic, 0)
    with Consumer(settings(auto_commit_interval_ms=100)) as consumer:
        consumer.subscribe([topic])
        read(consumer, 3)
        assert consumer.poll(300) == []  # only now are they handled
        poll_until(lambda: admin.group_offsets(group) == {place: OffsetAndMetadata(3)}, consumer)


@each_protocol
def test_commits_by_message_by_mapping_and_of_everything(
    servers: list[str],
    topic: str,
    settings: Callable[..., ConsumerConfig],
    *,
    admin: Admin,
    group: str,
    protocol: str,
) -> None:
    write(servers, topic, *"abcdef")
    place = TopicPartition(topic, 0)
    with Consumer(settings(protocol, enable_auto_commit=False)) as consumer:
        consumer.subscribe([topic])
        assert consumer.commit() == {}
        messages = read(consumer, 6)
        assert consumer.committed(place) is None
        assert consumer.commit(messages[1]) == {place: 2}
        assert consumer.committed(place) == 2
        assert consumer.commit({place: OffsetAndMetadata(3, "by hand")}) == {place: 3}
        assert admin.group_offsets(group, [place]) == {place: OffsetAndMetadata(3, "by hand")}
        assert consumer.handed_out() == {place: 6}
        assert consumer.commit() == {place: 6}
        assert consumer.commit() == {}
        assert consumer.lag() == {place: 0}
        consumer.commit({place: 1}, wait=False)
        poll_until(lambda: consumer.committed(place) == 1, consumer)
        assert consumer.position(place) == 6


@each_protocol
def test_two_consumers_share_and_take_over(
    servers: list[str], make_topic: Callable[..., str], settings: Callable[..., ConsumerConfig], protocol: str
) -> None:
    topic = make_topic(partitions=4)
    calls: list[tuple[str, str, list[int]]] = []

    def listeners(who: str) -> dict[str, Any]:
        def note(what: str) -> Callable[[list[TopicPartition]], None]:
            return lambda places: calls.append((who, what, [place.partition for place in places]))

        return {"on_assign": note("assign"), "on_revoke": note("revoke"), "on_lost": note("lost")}

    with Consumer(settings(protocol)) as one:
        one.subscribe([topic], **listeners("one"))
        poll_until(lambda: len(one.assignment()) == 4, one)
        with Consumer(settings(protocol)) as other:
            other.subscribe([topic], **listeners("other"))
            poll_until(lambda: len(one.assignment()) == len(other.assignment()) == 2, one, other)
            assert not set(one.assignment()) & set(other.assignment())
            for partition in range(4):
                write(servers, topic, *map(str, range(25)), partition=partition)
            seen: list[Any] = []
            while len(seen) < 100:
                seen += poll_until(lambda: True) + one.poll(50) + other.poll(50)
            assert sorted((each.partition, each.offset) for each in seen) == [
                (partition, offset) for partition in range(4) for offset in range(25)
            ]
        poll_until(lambda: len(one.assignment()) == 4, one)
    assert sum(len(places) for who, what, places in calls if (who, what) == ("one", "assign")) >= 4
    assert any((who, what) == ("one", "revoke") for who, what, _ in calls)
    assert not any(what == "lost" for _, what, _ in calls)
    given = {(who, what) for who, what, _ in calls}
    assert ("other", "assign") in given
    assert ("other", "revoke") in given, "closing gives the partitions up, and says so"


@each_protocol
def test_seek_and_pause_within_on_assign(
    servers: list[str], make_topic: Callable[..., str], settings: Callable[..., ConsumerConfig], protocol: str
) -> None:
    topic = make_topic(partitions=2)
    for partition in (0, 1):
        write(servers, topic, *map(str, range(10)), partition=partition)
    with Consumer(settings(protocol)) as consumer:

        def begin(places: list[TopicPartition]) -> None:
            consumer.seek(TopicPartition(topic, 0), 7)
            consumer.pause(TopicPartition(topic, 1))

        consumer.subscribe([topic], on_assign=begin)
        seen = read(consumer, 3) + consumer.poll(300)
        assert [(each.partition, each.offset) for each in seen] == [(0, 7), (0, 8), (0, 9)]
        consumer.resume()
        assert [each.offset for each in read(consumer, 10)] == list(range(10))


def test_a_last_commit_within_on_revoke(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig], admin: Admin, group: str
) -> None:
    write(servers, topic, *"abc")
    with Consumer(settings(enable_auto_commit=False)) as consumer:
        consumer.subscribe([topic], on_revoke=lambda places: consumer.commit() and None)
        read(consumer, 3)
    assert admin.group_offsets(group) == {TopicPartition(topic, 0): OffsetAndMetadata(3)}


def test_what_a_listener_raises_comes_out_of_poll(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig]
) -> None:
    write(servers, topic, "a")

    def explode(places: list[TopicPartition]) -> None:
        raise ZeroDivisionError

    with Consumer(settings()) as consumer:
        consumer.subscribe([topic], on_assign=explode)
        with pytest.raises(ZeroDivisionError):
            read(consumer, 1)
        assert [message.value for message in read(consumer, 1)] == [b"a"], "the rebalance was seen through"


def test_a_consumer_that_does_not_poll_loses_its_partitions_and_comes_back(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig]
) -> None:
    write(servers, topic, "a")
    lost: list[TopicPartition] = []
    slow = settings(session_timeout_ms=2_000, max_poll_interval_ms=2_000, enable_auto_commit=False)
    with Consumer(slow) as consumer:
        consumer.subscribe([topic], on_lost=lost.extend)
        [message] = read(consumer, 1)
        time.sleep(3)
        with pytest.raises((CommitRefused, GroupError)):
            consumer.commit(message)
        with pytest.raises(PollIntervalExceeded):
            read(consumer, 1)
        assert [again.value for again in read(consumer, 1)] == [b"a"]
    assert lost == [TopicPartition(topic, 0)]


def test_an_offset_that_is_gone_can_be_sought_away_from(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig], admin: Admin, group: str
) -> None:
    write(servers, topic, *map(str, range(10)))
    place = TopicPartition(topic, 0)
    admin.set_group_offsets(group, {place: 2})
    admin.delete_records({place: 5})
    with Consumer(settings(auto_offset_reset=OffsetResetPolicy.NONE)) as consumer:
        consumer.subscribe([topic])
        with pytest.raises(OffsetOutOfRange):
            read(consumer, 1)
        consumer.seek(place, 8)
        assert [message.offset for message in read(consumer, 2)] == [8, 9]


def test_two_processes_with_one_instance_id(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig]
) -> None:
    with Consumer(settings(group_instance_id="one")) as first:
        first.subscribe([topic])
        poll_until(lambda: len(first.assignment()) == 1, first)
        with Consumer(settings(group_instance_id="one")) as second:
            second.subscribe([topic])
            with pytest.raises(MemberFenced):
                poll_until(lambda: False, second, first)


def test_a_topic_that_does_not_exist_is_reported_and_waited_for(
    servers: list[str], topic_name: str, settings: Callable[..., ConsumerConfig], admin: Admin
) -> None:
    quick = settings(extra={"topic.metadata.refresh.interval.ms": 500})
    with Consumer(quick) as consumer:
        consumer.subscribe([topic_name])
        with pytest.raises(UnknownTopic, match=topic_name):
            read(consumer, 1)
        admin.create_topic(topic_name)
        write(servers, topic_name, "a")
        assert [message.value for message in read(consumer, 1)] == [b"a"]
    admin.delete_topics(topic_name)


@each_protocol
def test_groups_under_administration(
    servers: list[str],
    topic: str,
    settings: Callable[..., ConsumerConfig],
    *,
    admin: Admin,
    group: str,
    protocol: str,
) -> None:
    place = TopicPartition(topic, 0)
    write(servers, topic, *"abc")
    kind = GroupType.CONSUMER if protocol == "consumer" else GroupType.CLASSIC
    with Consumer(settings(protocol, client_id="reader")) as consumer:
        consumer.subscribe([topic])
        read(consumer, 3)
        consumer.commit()
        described = admin.describe_group(group)
        assert (described.state, described.type) == (GroupState.STABLE, kind)
        [member] = described.members
        assert (member.client_id, member.assignment) == ("reader", (place,))
        [listed] = [each for each in admin.list_groups(states=[GroupState.STABLE]) if each.group_id == group]
        assert listed.type is kind
        with pytest.raises(GroupNotEmpty):
            admin.delete_groups(group)
        with pytest.raises(GroupError):
            admin.set_group_offsets(group, {place: 0})
    assert group not in {each.group_id for each in admin.list_groups(states=[GroupState.STABLE])}
    admin.set_group_offsets(group, {place: OffsetAndMetadata(1, "moved")})
    assert admin.group_offsets(group) == {place: OffsetAndMetadata(1, "moved")}
    admin.delete_groups(group)
    assert group not in {each.group_id for each in admin.list_groups()}
    with pytest.raises(UnknownGroup):
        admin.describe_group(group)


# asyncio


@each_protocol
def test_async_in_a_group(
    servers: list[str],
    topic: str,
    settings: Callable[..., ConsumerConfig],
    *,
    admin: Admin,
    group: str,
    protocol: str,
) -> None:
    write(servers, topic, *map(str, range(50)))
    place = TopicPartition(topic, 0)
    events: list[str] = []

    async def scenario() -> None:
        async with AsyncConsumer(settings(protocol, enable_auto_commit=False)) as consumer:

            async def begin(places: list[TopicPartition]) -> None:
                assert threading.current_thread() is threading.main_thread()
                events.append("assign")
                await consumer.seek(place, 10)

            async def end(places: list[TopicPartition]) -> None:
                events.append("revoke")
                await consumer.commit()

            await consumer.subscribe([topic], on_assign=begin, on_revoke=end)
            seen = []
            async with asyncio.timeout(PATIENCE_S):
                async for message in consumer:
                    seen.append(message.offset)
                    if message.offset == 20:
                        assert await consumer.commit(message) == {place: 21}
                        assert await consumer.committed(place) == 21
                    if message.offset == 30:
                        break
            assert seen == list(range(10, 31))

    asyncio.run(scenario())
    assert events == ["assign", "revoke"]
    assert admin.group_offsets(group) == {place: OffsetAndMetadata(31)}


def test_async_auto_commit_leaves_out_the_message_in_hand(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig], admin: Admin, group: str
) -> None:
    write(servers, topic, *"abcdef")

    async def scenario() -> None:
        async with asyncio.timeout(PATIENCE_S), AsyncConsumer(settings()) as consumer:
            await consumer.subscribe([topic])
            async for message in consumer:
                if message.value == b"c":
                    raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(scenario())
    assert admin.group_offsets(group) == {TopicPartition(topic, 0): OffsetAndMetadata(2)}


def test_async_a_slow_application_with_a_full_buffer_stays_in_the_group(
    servers: list[str], topic: str, settings: Callable[..., ConsumerConfig]
) -> None:
    write(servers, topic, *map(str, range(100)))
    tight = settings(
        session_timeout_ms=3_000, max_poll_interval_ms=3_000, buffer_records=4, enable_auto_commit=False
    )

    async def scenario() -> None:
        lost: list[TopicPartition] = []
        async with asyncio.timeout(PATIENCE_S), AsyncConsumer(tight) as consumer:
            await consumer.subscribe([topic], on_lost=lost.extend)
            seen = []
            async for message in consumer:
                seen.append(message.offset)
                if len(seen) in (1, 2, 3):
                    await asyncio.sleep(1.5)  # three times, each with nothing taken for half the interval
                assert consumer.buffered() <= 4
                if len(seen) == 100:
                    break
            assert seen == list(range(100))
            await consumer.commit()
        assert lost == []

    asyncio.run(scenario())


def test_async_two_consumers_hand_over_what_is_buffered(
    servers: list[str], make_topic: Callable[..., str], settings: Callable[..., ConsumerConfig]
) -> None:
    topic = make_topic(partitions=2)
    for partition in (0, 1):
        write(servers, topic, *map(str, range(300)), partition=partition)

    async def scenario() -> None:
        seen: list[tuple[int, int]] = []

        async def drink(consumer: AsyncConsumer[Any, Any]) -> None:
            async for message in consumer:
                seen.append((message.partition, message.offset))
                await consumer.commit(message, wait=False)
                await asyncio.sleep(0.005)

        async with asyncio.timeout(PATIENCE_S):
            async with AsyncConsumer(settings(enable_auto_commit=False)) as one:
                await one.subscribe([topic])
                first = asyncio.create_task(drink(one))
                await until(lambda: len(seen) >= 50)
                async with AsyncConsumer(settings(enable_auto_commit=False)) as other:
                    await other.subscribe([topic])
                    second = asyncio.create_task(drink(other))
                    await until(lambda: len(set(seen)) == 600)
                    assert len(await one.assignment()) == len(await other.assignment()) == 1
                await second
            await first
        assert set(seen) == {(partition, offset) for partition in (0, 1) for offset in range(300)}
        assert len(seen) < 900, "a rebalance repeats what was not committed, not everything"

    asyncio.run(scenario())


# The documentation


READERS = [example for example in examples(needs_group=True) if "commit_offsets" not in example.code]


@pytest.mark.parametrize("example", READERS, ids=lambda example: f"line-{example.line}")
def test_an_example_of_the_documentation_runs(
    servers: list[str], example: Example, admin: Admin, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.create_topic("events", if_not_exists=True)
    write(servers, "events", "Hello")
    example.run(servers[0])
    assert "b'Hello'" in capsys.readouterr().out


def test_the_client_as_everybody_writes_it(servers: list[str], topic: str, group: str, admin: Admin) -> None:
    handled: list[Any] = []
    with Producer(
        ProducerConfig(
            bootstrap_servers=servers,
            acks=AckMode.ALL,
            linger_ms=10,
            batch_size=16_384,
            compression_type="zstd",
            enable_idempotence=True,
        )
    ) as producer:
        receipt = producer.send(topic, key="user-1", value="Hello").result()
    with Consumer(
        ConsumerConfig(
            bootstrap_servers=servers,
            group_id=group,
            auto_offset_reset=OffsetResetPolicy.EARLIEST,
            max_poll_records=500,
        )
    ) as consumer:
        consumer.subscribe([topic])
        deadline = time.monotonic() + PATIENCE_S
        while not handled and time.monotonic() < deadline:
            for message in consumer.poll(timeout_ms=1000):
                handled.append((message.offset, message.key, message.value))
                consumer.commit(message)
    assert handled == [(receipt.offset, b"user-1", b"Hello")]
    assert admin.group_offsets(group) == {receipt.topic_partition: OffsetAndMetadata(1)}
