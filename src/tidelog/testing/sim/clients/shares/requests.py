"""Acknowledgements and partitions as ShareFetch and ShareAcknowledge have them."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from tidelog.shares.states import AckType
from tidelog.wire.messages import share_acknowledge, share_fetch

Place = tuple[str, int]
TopicIds = dict[str, bytes]


class PlannedAck(NamedTuple):
    place: Place
    offset: int
    type: AckType
    delivery: int
    """The delivery count of the member's last delivery."""
    delay_ms: int = -1


class AckRun(NamedTuple):
    first: int
    last: int
    types: list[int]
    delay_ms: int


def fetch_topics(ids: TopicIds, places: list[Place], acks: list[PlannedAck]) -> list[share_fetch.FetchTopic]:
    topics: dict[str, share_fetch.FetchTopic] = {}
    for place in dict.fromkeys([*places, *(ack.place for ack in acks)]):
        batches = [
            share_fetch.AcknowledgementBatch(
                first_offset=run.first,
                last_offset=run.last,
                acknowledge_types=run.types,
                delay_ms=run.delay_ms,
            )
            for run in _runs(acks, place)
        ]
        topic = topics.setdefault(place[0], share_fetch.FetchTopic(topic_id=ids[place[0]], partitions=[]))
        topic.partitions.append(
            share_fetch.FetchPartition(partition_index=place[1], acknowledgement_batches=batches)
        )
    return list(topics.values())


def ack_topics(ids: TopicIds, acks: list[PlannedAck]) -> list[share_acknowledge.AcknowledgeTopic]:
    topics: dict[str, share_acknowledge.AcknowledgeTopic] = {}
    for place in dict.fromkeys(ack.place for ack in acks):
        batches = [
            share_acknowledge.AcknowledgementBatch(
                first_offset=run.first,
                last_offset=run.last,
                acknowledge_types=run.types,
                delay_ms=run.delay_ms,
            )
            for run in _runs(acks, place)
        ]
        topic = topics.setdefault(
            place[0], share_acknowledge.AcknowledgeTopic(topic_id=ids[place[0]], partitions=[])
        )
        topic.partitions.append(
            share_acknowledge.AcknowledgePartition(partition_index=place[1], acknowledgement_batches=batches)
        )
    return list(topics.values())


def forgotten_topics(
    ids: TopicIds, before: list[Place], after: list[Place]
) -> list[share_fetch.ForgottenTopic]:
    gone = sorted(place for place in before if place not in after)
    return [
        share_fetch.ForgottenTopic(topic_id=ids[name], partitions=[index for _, index in places])
        for name, places in groupby(gone, key=lambda place: place[0])
    ]


def _runs(acks: list[PlannedAck], place: Place) -> Iterator[AckRun]:
    """Neighbouring offsets with the same delay: one type where it is the same for all, else one for each."""
    mine = sorted((ack for ack in acks if ack.place == place), key=lambda ack: ack.offset)
    start = 0
    for number, ack in enumerate(mine, 1):
        after = mine[number] if number < len(mine) else None
        if after is None or after.offset != ack.offset + 1 or after.delay_ms != ack.delay_ms:
            run = mine[start:number]
            types = [int(one.type) for one in run]
            yield AckRun(
                run[0].offset, ack.offset, types[:1] if len(set(types)) == 1 else types, ack.delay_ms
            )
            start = number
