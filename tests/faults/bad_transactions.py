"""Transactions that go wrong, told step by step: what was asked, and the name of the error that came.

The answers of Apache Kafka are in transaction_answers.txt; test_bad_transactions.py compares ours with them.
To write them anew, with a broker of it up (tests/interop/apache_kafka.py starts one):
python -m tests.faults.bad_transactions --port 9092 > tests/faults/transaction_answers.txt
"""

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.faults.group_calls import join, leave, sync, wait_for_coordinator
from tests.faults.log_calls import create_topic
from tests.faults.raw_client import RawClient, wait_until
from tests.faults.transaction_calls import FIRST, SECOND, Transactor, fresh
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

Steps = Iterator[tuple[str, str]]
NOBODY = 987_654_321
"""A producer id that no broker gave to anybody."""


class World(NamedTuple):
    client: RawClient
    topic: str
    group: str


Scenario = Callable[[World], Steps]
SCENARIOS: dict[str, Scenario] = {}


def scenario(told: Scenario) -> Scenario:
    SCENARIOS[told.__name__] = told
    return told


def begun(world: World, version: int) -> Transactor:
    """With a record in an open transaction."""
    producer = Transactor(world.client)
    assert producer.init() == "NONE"
    if version == FIRST:
        assert producer.add((world.topic, 0)) == "NONE"
    answer = producer.produce(world.topic, version=version)
    assert answer == "NONE", answer
    return producer


def everything(producer: Transactor, world: World) -> Steps:
    """Every request a producer can make, by one that may not."""
    yield "produce 11", producer.produce(world.topic, version=FIRST)
    yield "produce 12", producer.produce(world.topic, version=SECOND)
    yield "produce 11 elsewhere", producer.produce(world.topic, 1, version=FIRST)
    yield "produce 12 elsewhere", producer.produce(world.topic, 1, version=SECOND)
    for version in range(4):
        yield f"add {version}", producer.add((world.topic, 0), version=version)
    for version in (4, 5):
        yield f"verify {version}", producer.verify((world.topic, 0), verify_only=True, version=version)
        yield f"join {version}", producer.verify((world.topic, 0), verify_only=False, version=version)
    for version in range(4):
        yield f"add offsets {version}", producer.add_offsets(world.group, version)
    for version in range(6):
        yield f"commit offset {version}", producer.commit_offset(world.group, world.topic, version=version)
    for version in range(6):
        yield f"commit {version}", producer.copy().end(version=version)
        yield f"abort {version}", producer.copy().end(commit=False, version=version)


@scenario
def zombie_of_an_open_transaction(world: World) -> Steps:
    zombie = begun(world, SECOND)
    heir = Transactor(world.client, zombie.name)
    yield "heir", heir.init()
    yield from everything(zombie, world)
    yield "marker", zombie.mark(world.topic, coordinator_epoch=0)
    yield "heir produces", heir.produce(world.topic)
    yield "heir commits", heir.end()
    yield "state", heir.settle()


@scenario
def zombie_beside_a_transaction_of_its_heir(world: World) -> Steps:
    zombie = begun(world, FIRST)
    heir = Transactor(world.client, zombie.name)
    heir.init()
    yield "heir adds", heir.add((world.topic, 0))
    yield "heir produces", heir.produce(world.topic, version=FIRST)
    yield from everything(zombie, world)
    yield "heir goes on", heir.produce(world.topic, version=FIRST)
    yield "heir commits", heir.end(version=3)
    yield "state", heir.settle()


@scenario
def epoch_that_nobody_was_given(world: World) -> Steps:
    producer = begun(world, SECOND)
    yield from everything(producer.copy(epoch=producer.epoch + 5, sequences={}), world)
    yield "right one commits", producer.end()
    yield "state", producer.settle()


@scenario
def foreign_producer_id(world: World) -> Steps:
    producer = begun(world, SECOND)
    yield from everything(producer.copy(id=NOBODY, sequences={}), world)
    yield "right one commits", producer.end()
    yield "state", producer.settle()


@scenario
def unknown_transactional_id(world: World) -> Steps:
    stranger = Transactor(world.client)
    stranger.find()
    stranger.id, stranger.epoch = NOBODY + 1, 0
    yield from everything(stranger, world)
    yield "state", stranger.state()


@scenario
def empty_transactional_id(world: World) -> Steps:
    nameless = Transactor(world.client, "")
    yield "find", nameless.find()
    for version in range(6):
        yield f"init {version}", nameless.init(version=version)
    nameless.id, nameless.epoch = NOBODY + 2, 0
    yield "add", nameless.add((world.topic, 0))
    yield "commit", nameless.end()


@scenario
def timeouts(world: World) -> Steps:
    for timeout_ms in (-1, 0, 1, 900_000, 900_001, 2**31 - 1):
        yield f"{timeout_ms} ms", Transactor(world.client).init(timeout_ms)


@scenario
def end_of_nothing(world: World) -> Steps:
    for version in (0, 3, 4, 5):
        for commit in (True, False):
            producer = Transactor(world.client)
            producer.init()
            word = "commit" if commit else "abort"
            yield f"{word} {version}", producer.end(commit, version)
            yield f"{word} {version} again", producer.end(commit, version)
            yield f"state after {word} {version}", producer.settle()
            yield f"produce after {word} {version}", producer.produce(world.topic)


@scenario
def end_twice(world: World) -> Steps:
    for version, produce in ((3, FIRST), (4, FIRST), (5, SECOND)):
        for first in (True, False):
            for second in (True, False):
                producer = begun(world, produce)
                late = producer.copy()
                words = f"{version} {'commit' if first else 'abort'}"
                yield words, producer.end(first, version)
                producer.settle()
                what = "commit" if second else "abort"
                yield f"{words}, the same {what}", late.copy().end(second, version)
                yield f"{words}, a new {what}", producer.copy().end(second, version)
                yield f"{words}, state", producer.settle()


@scenario
def delayed_end_of_the_first_protocol(world: World) -> Steps:
    producer = begun(world, FIRST)
    late = producer.copy()
    yield "commit", producer.end(version=3)
    producer.settle()
    yield "add again", producer.add((world.topic, 0))
    yield "produce again", producer.produce(world.topic, version=FIRST)
    yield "late commit", late.end(version=3)
    yield "state", producer.settle()
    yield "its own commit", producer.end(version=3)
    yield "late abort", late.end(commit=False, version=3)


@scenario
def delayed_end_of_the_second_protocol(world: World) -> Steps:
    producer = begun(world, SECOND)
    late = producer.copy()
    yield "commit", producer.end()
    producer.settle()
    yield "produce again", producer.produce(world.topic)
    for version in (3, 4, 5):
        yield f"late commit {version}", late.copy().end(version=version)
        yield f"late abort {version}", late.copy().end(commit=False, version=version)
    yield "state", producer.state()
    yield "its own commit", producer.end()
    yield "state at last", producer.settle()


@scenario
def delayed_records(world: World) -> Steps:
    for version, end in ((FIRST, 3), (SECOND, 5)):
        producer = begun(world, version)
        late = producer.copy()
        producer.end(version=end)
        producer.settle()
        yield f"produce {version} after the end", late.produce(world.topic, version=version)
        yield f"produce {version} elsewhere", late.produce(world.topic, 1, version=version)
        yield f"state {version}", producer.state()


@scenario
def protocols_mixed(world: World) -> Steps:
    producer = begun(world, FIRST)
    yield "end of the second after the first", producer.end(version=5)
    producer.settle()
    yield "produce 12", producer.produce(world.topic, version=SECOND)
    yield "produce 11", producer.produce(world.topic, version=FIRST)
    yield "produce 11 elsewhere", producer.produce(world.topic, 1, version=FIRST)
    yield "end of the first after the second", producer.end(version=3)
    yield "state", producer.settle()
    yield "add", producer.add((world.topic, 0))
    yield "produce 11 again", producer.produce(world.topic, version=FIRST)
    yield "commit", producer.end(version=3)


@scenario
def partitions_that_are_not(world: World) -> Steps:
    producer = Transactor(world.client)
    producer.init()
    for version in range(4):
        yield f"unknown topic {version}", producer.add(("nowhere", 0), version=version)
        yield f"unknown partition {version}", producer.add((world.topic, 99), version=version)
        places = (world.topic, 0), ("nowhere", 0)
        yield f"one known, one not {version}", producer.add(*places, version=version)
    yield "state", producer.state()
    yield "negative partition", producer.add((world.topic, -1))
    yield "illegal name", producer.add(("no such name!", 0))
    yield "produce to an unknown topic", producer.produce("nowhere")
    yield "produce to an unknown partition", producer.produce(world.topic, 99)
    yield "state after all", producer.state()


@scenario
def records_of_no_transaction(world: World) -> Steps:
    producer = Transactor(world.client)
    producer.init()
    for version in (3, 8, 11):
        yield f"not added {version}", producer.produce(world.topic, version=version)
    for version in (8, 11, 12):
        yield (
            f"without an id {version}",
            producer.produce(world.topic, version=version, transactional_id=None),
        )
        yield f"of another id {version}", producer.produce(world.topic, version=version, transactional_id="x")
        yield f"acks=1 {version}", producer.produce(world.topic, version=version, acks=1)
    yield "state", producer.state()


@scenario
def plain_records_of_a_transactional_producer(world: World) -> Steps:
    for version in (FIRST, SECOND):
        producer = Transactor(world.client)
        producer.init()
        yield f"before {version}", producer.produce(world.topic, version=version, transactional=False)
        producer.add((world.topic, 0))
        yield f"within {version}", producer.produce(world.topic, version=version, transactional=False)
        yield f"transactional {version}", producer.produce(world.topic, version=version)
        yield f"after {version}", producer.produce(world.topic, version=version, transactional=False)
        yield f"commit {version}", producer.end()


@scenario
def sequences(world: World) -> Steps:
    for version in (FIRST, SECOND):
        producer = Transactor(world.client)
        producer.init()
        if version == FIRST:
            producer.add((world.topic, 0))
        yield f"first is 5, {version}", producer.produce(world.topic, version=version, sequence=5)
        yield f"0, {version}", producer.produce(world.topic, version=version, sequence=0)
        yield f"0 again, {version}", producer.produce(world.topic, version=version, sequence=0)
        yield f"2, {version}", producer.produce(world.topic, version=version, sequence=2)
        yield f"1, {version}", producer.produce(world.topic, version=version, sequence=1)
        yield f"commit {version}", producer.end(version=5 if version == SECOND else 3)
        producer.settle()
        if version == FIRST:
            producer.add((world.topic, 0))
        yield f"7 in the next, {version}", producer.produce(world.topic, version=version, sequence=7)
        following = 2 if version == FIRST else 0
        yield (
            f"right in the next, {version}",
            producer.produce(world.topic, version=version, sequence=following),
        )


@scenario
def markers(world: World) -> Steps:
    producer = begun(world, FIRST)
    yield "unknown topic", producer.mark("nowhere", coordinator_epoch=0)
    yield "unknown partition", producer.mark(world.topic, index=99, coordinator_epoch=0)
    yield "a later coordinator", producer.mark(world.topic, coordinator_epoch=7)
    yield "the same again", producer.mark(world.topic, coordinator_epoch=7)
    yield "an earlier coordinator", producer.mark(world.topic, coordinator_epoch=6)
    yield "an earlier one, abort", producer.mark(world.topic, coordinator_epoch=6, commit=False)
    older = producer.copy(epoch=producer.epoch - 1)
    yield "an earlier producer", older.mark(world.topic, coordinator_epoch=8)
    newer = producer.copy(epoch=producer.epoch + 1)
    yield "a later producer", newer.mark(world.topic, coordinator_epoch=8)
    yield "the producer goes on", producer.produce(world.topic, version=FIRST)
    nobody = producer.copy(id=NOBODY + 3, epoch=0)
    yield "of nobody", nobody.mark(world.topic, coordinator_epoch=0)
    yield "version 2", newer.mark(world.topic, coordinator_epoch=9, version=2)


@scenario
def offsets_of_a_member(world: World) -> Steps:
    producer = Transactor(world.client)
    producer.init()
    joined = join(world.client, world.group, version=3)
    sync(world.client, world.group, joined.member_id, joined.generation_id, shares=[joined.member_id])
    right = {"member_id": joined.member_id, "generation_id": joined.generation_id}
    for version in (3, 4, 5):
        if version < 5:
            yield f"add offsets {version}", producer.add_offsets(world.group)

        def commit(version: int = version, **more: object) -> str:
            return producer.commit_offset(world.group, world.topic, version=version, **{**right, **more})

        yield f"old generation {version}", commit(generation_id=joined.generation_id - 1)
        yield f"next generation {version}", commit(generation_id=joined.generation_id + 1)
        yield f"unknown member {version}", commit(member_id="nobody")
        yield f"unknown instance {version}", commit(group_instance_id="nobody")
        yield f"no member {version}", commit(member_id="", generation_id=-1)
        yield f"member, no generation {version}", commit(generation_id=-1)
        yield (
            f"unknown topic {version}",
            producer.commit_offset(world.group, "nowhere", version=version, **right),
        )
        yield (
            f"unknown partition {version}",
            producer.commit_offset(world.group, world.topic, index=99, version=version, **right),
        )
        yield f"right {version}", commit()
    yield "commit", producer.end()
    leave(world.client, world.group, joined.member_id)
    producer.settle()
    empty = Transactor(world.client)
    empty.init()
    yield "group is empty now", empty.commit_offset(world.group, world.topic)
    yield (
        "generation of an empty group",
        empty.commit_offset(world.group, world.topic, member_id="x", generation_id=4),
    )
    yield "no group at all", empty.commit_offset("", world.topic)
    yield "abort", empty.end(commit=False)


@scenario
def offsets_without_a_transaction(world: World) -> Steps:
    producer = Transactor(world.client)
    producer.init()
    for version in range(6):
        yield f"commit offset {version}", producer.commit_offset(world.group, world.topic, version=version)
    yield "state", producer.state()
    yield "add offsets of no group", producer.add_offsets("")
    yield "end", producer.end()


@scenario
def a_producer_that_comes_again(world: World) -> Steps:
    """With the id and epoch it has, after an error (KIP-360)."""
    producer = Transactor(world.client)
    producer.init()

    def again(who: Transactor, version: int = 5) -> str:
        return who.init(version=version, producer_id=who.id, producer_epoch=who.epoch)

    old = producer.copy()
    yield "with its epoch", again(producer)
    yield "epochs apart", str(producer.epoch - old.epoch)
    yield "with the epoch before", again(old.copy())
    yield "id only", producer.copy().init(producer_id=producer.id)
    yield "epoch only", producer.copy().init(producer_epoch=producer.epoch)
    yield "another id", again(producer.copy(id=NOBODY))
    yield "a later epoch", again(producer.copy(epoch=producer.epoch + 3))
    producer.init()
    yield "two epochs before", again(old.copy())
    producer.produce(world.topic)
    yield "within a transaction", again(producer.copy())
    yield "within one of the first protocol", again(begun(world, FIRST))
    zombie = Transactor(world.client)
    zombie.init()
    heir = Transactor(world.client, zombie.name)
    heir.init()
    heir.produce(world.topic)
    yield "a zombie beside a transaction of its heir", again(zombie)
    yield "the heir commits", heir.end()
    yield "unknown transactional id", again(Transactor(world.client).copy(id=NOBODY + 4, epoch=3))


@scenario
def time_over(world: World) -> Steps:
    for version, end in ((FIRST, 3), (FIRST, 4), (SECOND, 5)):
        producer = Transactor(world.client)
        producer.init(timeout_ms=100)
        if version == FIRST:
            producer.add((world.topic, 0))
        producer.produce(world.topic, version=version)
        yield f"state {end}", producer.settle()
        yield f"produce {end}", producer.produce(world.topic, version=version)
        yield f"produce elsewhere {end}", producer.produce(world.topic, 1, version=version)
        yield f"add {end}", producer.add((world.topic, 0))
        yield f"commit offset {end}", producer.commit_offset(world.group, world.topic)
        yield f"commit {end}", producer.copy().end(version=end)
        yield f"abort {end}", producer.copy().end(commit=False, version=end)
        yield f"init {end}", producer.init()
        yield f"produce again {end}", producer.produce(world.topic)
        yield f"commit again {end}", producer.end()


def is_led(client: RawClient, topic: str, index: int) -> bool:
    asked = ListOffsetsPartition(partition_index=index, timestamp=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    answer = client.ask(ApiKey.LIST_OFFSETS, request, 6)
    return not answer.topics[0].partitions[0].error_code


def tell(client: RawClient, name: str) -> list[str]:
    """`scenario | step | answer`."""
    world = World(client, fresh("topic"), fresh("group"))
    create_topic(client, world.topic, partitions=2)
    for index in (0, 1):  # Apache Kafka says that a topic is there before it has leaders
        wait_until(lambda index=index: is_led(client, world.topic, index), "a leader")
    wait_for_coordinator(client, world.group)
    return [f"{name} | {step} | {answer}" for step, answer in SCENARIOS[name](world)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    for name in SCENARIOS:
        with RawClient(arguments.port) as client:
            print("\n".join(tell(client, name)), flush=True)


if __name__ == "__main__":
    main()
