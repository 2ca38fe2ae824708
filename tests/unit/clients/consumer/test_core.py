"""Rebalances, positions, pauses and commits of a consumer, with a librdkafka that follows a script."""

from typing import Any

import pytest
from confluent_kafka import TopicPartition as LibrdkafkaPlace

from tests.unit.clients.fake_consumer import FakeConsumer, raw
from tidelog import (
    ClientClosed,
    ConsumerConfig,
    Message,
    OffsetOutOfRange,
    OffsetResetPolicy,
    RequestTimedOut,
    TopicPartition,
    UsageError,
)
from tidelog.clients.consumer.core import ConsumerCore
from tidelog.clients.consumer.offsets import ConsumerOffsets
from tidelog.clients.consumer.rebalance import RebalanceListener
from tidelog.clients.serializers import bytes_deserializer

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def core(**fields: Any) -> ConsumerCore:
    config = ConsumerConfig(bootstrap_servers="nowhere:1", **fields)
    return ConsumerCore(config, bytes_deserializer, bytes_deserializer, FakeConsumer)


def grouped(**fields: Any) -> ConsumerCore:
    return core(group_id="g", **fields)


def rebalance(one: ConsumerCore, kind: str, *places: TopicPartition) -> None:
    one.client.next_rebalance = (kind, [LibrdkafkaPlace(*place) for place in places])
    one.take(0, 10)


def hand_out(one: ConsumerCore, *messages: Any) -> None:
    one.client.messages.extend(messages)
    for message in one.take(0, 10):
        one.positions.hand_out(message.topic_partition, message.offset)


def test_polling_takes_what_is_there_and_no_more_than_asked_for() -> None:
    one = core()
    one.client.messages.extend(raw(0, offset) for offset in range(5))
    assert [message.offset for message in one.take(0, 2)] == [0, 1]
    assert [message.offset for message in one.take(0, 10)] == [2, 3, 4]


def test_where_reading_begins_without_a_group() -> None:
    for policy, start in ((OffsetResetPolicy.EARLIEST, 0), (OffsetResetPolicy.LATEST, 100)):
        one = core(auto_offset_reset=policy)
        one.assign([A])
        assert one.client.assigned == {A: start}
    one.assign({A: 5, B: None})
    assert one.client.assigned == {A: 5, B: 100}
    with pytest.raises(UsageError, match="needs offsets"):
        core(auto_offset_reset="none").assign([A])


def test_no_broker_to_ask_where_to_begin() -> None:
    one = core(auto_offset_reset="earliest")
    one.client.watermarks = None
    one.assign([A])
    assert one.client.assigned == {A: -2}, "librdkafka's word for the beginning"
    with pytest.raises(RequestTimedOut):
        ConsumerOffsets(one).watermarks(A)


def test_subscribing_needs_a_group() -> None:
    with pytest.raises(UsageError, match="needs a group"):
        core().subscribe(["t"], RebalanceListener())


@pytest.mark.parametrize(
    ("fields", "call"), [({}, "assign"), ({"group_protocol": "consumer"}, "incremental_assign")]
)
def test_seeks_and_pauses_within_on_assign_take_effect(fields: dict[str, Any], call: str) -> None:
    one = grouped(**fields)

    def begin(places: list[TopicPartition]) -> None:
        assert places == [A, B]
        one.seek(A, 42)
        one.pause([B])
        assert one.client.paused == set(), "not yet: they are not assigned"

    one.subscribe(["t"], RebalanceListener(on_assign=begin))
    rebalance(one, "on_assign", A, B)
    assert one.client.calls == [call]
    assert one.client.assigned[A] == 42
    assert one.client.paused == {B}
    assert one.positions.next_of(A) == 42


def test_partitions_that_go_take_their_messages_with_them() -> None:
    one = grouped()
    gone: list[TopicPartition] = []
    one.on_gone = gone.extend
    one.subscribe(["t"], RebalanceListener(on_revoke=lambda places: None))
    rebalance(one, "on_assign", A, B)
    one.client.messages.extend([raw(0, 0), raw(1, 0), raw(0, 1), raw(1, 1)])
    assert len(one.take(0, 1, fetch=10)) == 1
    one._on_revoke(one.client, [LibrdkafkaPlace(*A)])
    assert gone == [A]
    assert [message.topic_partition for message in one.take(0, 10)] == [B, B]


def test_what_was_handled_is_stored_before_partitions_go() -> None:
    one = grouped()
    one.subscribe(["t"], RebalanceListener())
    rebalance(one, "on_assign", A)
    hand_out(one, raw(0, 0), raw(0, 1))
    assert one.client.stored == {}, "still in hand"
    one.positions.all_handled()
    rebalance(one, "on_revoke", A)
    assert one.client.stored == {A: 2}


def test_lost_partitions_are_told_to_on_revoke_where_there_is_no_on_lost() -> None:
    told: list[Any] = []
    one = grouped()
    one.subscribe(["t"], RebalanceListener(on_revoke=told.append))
    rebalance(one, "on_assign", A)
    rebalance(one, "on_lost", A)
    assert told == [[A]]


def test_what_a_listener_raises_comes_out_after_the_rebalance_and_costs_no_message() -> None:
    def explode(places: list[TopicPartition]) -> None:
        raise ZeroDivisionError

    one = grouped()
    one.subscribe(["t"], RebalanceListener(on_assign=explode))
    one.client.messages.append(raw(0, 0))
    with pytest.raises(ZeroDivisionError):
        rebalance(one, "on_assign", A)
    assert one.client.assigned.keys() == {A}
    assert [message.offset for message in one.take(0, 10)] == [0]


def test_without_auto_commit_nothing_is_stored() -> None:
    one = grouped(enable_auto_commit=False)
    one.assign({A: 0})
    hand_out(one, raw(0, 0))
    one.close(handled=True)
    assert one.client.stored == {}


@pytest.mark.parametrize(("handled", "stored"), [(True, {A: 1}), (False, {})])
def test_closing_stores_the_message_in_hand_only_if_it_was_handled(handled: bool, stored: Any) -> None:
    one = grouped()
    one.assign({A: 0})
    hand_out(one, raw(0, 0))
    one.close(handled=handled)
    assert one.client.stored == stored
    assert one.client.calls[-1] == "close"
    one.close(handled=True)
    assert one.client.calls.count("close") == 1
    with pytest.raises(ClientClosed):
        one.take(0, 1)


def test_a_seek_where_nothing_is_fetched_begins_anew_and_keeps_pauses() -> None:
    one = core()
    one.assign({A: 0, B: 0})
    one.pause([B])
    one.client.paused.clear()  # as librdkafka does when partitions are assigned
    one.client.seek_fails = True
    one.seek(A, 9)
    assert one.client.assigned[A] == 9
    assert one.client.paused == {B}
    with pytest.raises(UsageError):
        one.seek(TopicPartition("other", 0), 1)


def test_holding_back_leaves_the_user_s_pauses_alone() -> None:
    one = core()
    one.assign({A: 0, B: 0})
    one.pause([B])
    one.hold()
    assert one.client.paused == {A, B}
    one.resume([B])
    assert one.client.paused == {A, B}, "held is held"
    one.pause([A])
    one.release()
    assert one.client.paused == {A}


# Offsets


def message(place: TopicPartition, offset: int) -> Message[bytes, bytes]:
    one = core()
    one.client.messages.append(raw(place.partition, offset))
    [made] = one.take(0, 1)
    return made


def test_the_three_ways_to_commit() -> None:
    one = grouped()
    offsets = ConsumerOffsets(one)
    one.assign({A: 0, B: 0})
    assert offsets.commit(None, wait=True) == {}
    hand_out(one, raw(0, 4), raw(1, 8))
    assert offsets.commit(message(A, 2), wait=True) == {A: 3}
    assert offsets.commit({B: 7}, wait=False) == {B: 7}
    assert one.client.group_offsets == {A: 3, B: 7}
    assert offsets.commit(None, wait=True) == {A: 5, B: 9}
    assert offsets.commit(None, wait=True) == {}
    assert offsets.committed([A]) == {A: 5}


def test_positions_come_from_messages_then_commits_then_the_policy() -> None:
    one = grouped(auto_offset_reset="earliest")
    one.client.watermarks = (10, 100)
    offsets = ConsumerOffsets(one)
    one.assign([A, B])
    one.client.group_offsets = {A: 0, ("t", 2): 50}
    assert offsets.position(A) == 0, "zero is an offset"
    assert offsets.position(B) == 10
    hand_out(one, raw(0, 60))
    assert offsets.position(A) == 61
    assert offsets.lag() == {A: 39, B: 90}


def test_lag_counts_only_what_is_still_there() -> None:
    one = core()
    one.client.watermarks = (90, 100)
    one.assign({A: 5})
    assert ConsumerOffsets(one).lag() == {A: 10}


def test_no_position_without_a_policy() -> None:
    one = grouped(auto_offset_reset="none")
    one.assign([A])
    with pytest.raises(OffsetOutOfRange):
        ConsumerOffsets(one).position(A)


def test_offsets_need_a_group() -> None:
    offsets = ConsumerOffsets(core())
    for call in (lambda: offsets.commit(None, wait=True), lambda: offsets.committed([A])):
        with pytest.raises(UsageError, match="needs a group"):
            call()
