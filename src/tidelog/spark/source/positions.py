"""Where a query begins and ends, as its options say it: words, offsets or times, before a broker was asked.

`starting_position` and `ending_position` choose among the options in the order of Spark's own Kafka source:
one time for all, then a time for each partition, then offsets.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.blocking.cluster import TopicPartition
from tidelog.blocking.log_bounds import EARLIEST, LATEST
from tidelog.spark.errors import OptionError
from tidelog.spark.options import Given

"""As Kafka's ListOffsets has them, and as people write them in JSON."""


@dataclass(frozen=True)
class Position:
    option: str
    """The name of the option, for errors."""
    everywhere: int | None = None
    """EARLIEST or LATEST, for all partitions."""
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    time_ms: int | None = None
    times_ms: Mapping[TopicPartition, int] = field(default_factory=dict)
    latest_if_too_late: bool = True
    """Where no record is as late as the time: take the end, else fail."""


def starting_position(given: Given, is_stream: bool) -> Position:
    strategy = given["startingOffsetsByTimestampStrategy"] == "latest"
    if "startingTimestamp" in given:
        return Position("startingTimestamp", time_ms=given["startingTimestamp"], latest_if_too_late=strategy)
    if "startingOffsetsByTimestamp" in given:
        name = "startingOffsetsByTimestamp"
        return Position(name, times_ms=_by_partition(name, given[name]), latest_if_too_late=strategy)
    name = "startingOffsets"
    position = _worded(name, given.text(name) or ("latest" if is_stream else "earliest"))
    if not is_stream and (position.everywhere == LATEST or LATEST in position.offsets.values()):
        raise OptionError(
            "a batch cannot begin at the latest offset (-1): startingOffsets must come before the end"
        )
    return position


def ending_position(given: Given) -> Position:
    if "endingTimestamp" in given:
        return Position("endingTimestamp", time_ms=given["endingTimestamp"])
    if "endingOffsetsByTimestamp" in given:
        name = "endingOffsetsByTimestamp"
        return Position(name, times_ms=_by_partition(name, given[name]))
    position = _worded("endingOffsets", given.text("endingOffsets") or "latest")
    if position.everywhere == EARLIEST or EARLIEST in position.offsets.values():
        raise OptionError(
            "a batch cannot end at the earliest offset (-2): endingOffsets must come after the start"
        )
    return position


def _worded(option: str, text: str) -> Position:
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return Position(option, everywhere=EARLIEST if word == "earliest" else LATEST)
    try:
        value = json.loads(text)
    except ValueError as error:
        raise OptionError(f"{option} is {text!r}, and must be earliest, latest or JSON: {error}") from None
    offsets = _by_partition(option, value)
    wrong = [f"{partition}: {offset}" for partition, offset in offsets.items() if offset < EARLIEST]
    if wrong:
        raise OptionError(f"{option} holds offsets below -2 (earliest): {', '.join(wrong)}")
    return Position(option, offsets=offsets)


def _by_partition(option: str, value: Any) -> dict[TopicPartition, int]:
    """`{"events":{"0":23,"1":-2}}`"""
    try:
        found = {
            TopicPartition(topic, int(partition)): number
            for topic, partitions in value.items()
            for partition, number in partitions.items()
        }
    except (AttributeError, ValueError):
        found = {}
    if not found or not all(type(number) is int for number in found.values()):
        raise OptionError(f'{option} must be JSON as {{"events":{{"0":23,"1":-2}}}}, not {json.dumps(value)}')
    return found
