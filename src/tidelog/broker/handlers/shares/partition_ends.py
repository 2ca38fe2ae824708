"""Where partitions end, here and at the brokers that lead the others, for the lag of share groups."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable

from tidelog.base.errors import ErrorCode, TidelogError
from tidelog.base.ids import NodeId, Offset
from tidelog.broker.metrics.end_offsets import PARTITIONS_A_REQUEST, Place, ask_ends
from tidelog.broker.requests.context import Services

Ends = dict[Place, Offset | ErrorCode]


async def partition_ends(services: Services, places: Iterable[Place]) -> Ends:
    """High watermarks; the error where the leader does not say."""
    ends: Ends = {}
    elsewhere: defaultdict[NodeId, list[Place]] = defaultdict(list)
    for place in dict.fromkeys(places):
        led = services.partitions.led(*place)
        image = services.metadata.image.partition(*place)
        if led is not None:
            ends[place] = led.high_watermark
        elif image is None:
            ends[place] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif image.leader < 0:
            ends[place] = ErrorCode.LEADER_NOT_AVAILABLE
        else:
            elsewhere[image.leader].append(place)
    asking = [
        _ask(services, leader, asked[first : first + PARTITIONS_A_REQUEST])
        for leader, asked in elsewhere.items()
        for first in range(0, len(asked), PARTITIONS_A_REQUEST)
    ]
    for answered in await asyncio.gather(*asking):
        ends |= answered
    return ends


async def _ask(services: Services, leader: NodeId, places: list[Place]) -> Ends:
    ends: Ends = dict.fromkeys(places, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    try:
        answer = await ask_ends(services, leader, places)
    except (OSError, TidelogError):
        return ends
    for topic in answer.topics:
        for one in topic.partitions:
            error = ErrorCode.of(one.error_code)
            ends[topic.name, one.partition_index] = error or one.offset
    return ends
