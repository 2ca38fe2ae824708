"""Which topics and partitions of a group a command is about: `orders`, `orders:0,2`, `orders:0-3`."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.clients.records import TopicPartition

PARTITIONS_MAX = 100_000  # of one choice; `orders:0-999999999` is a slip of the hand


@dataclass(frozen=True, slots=True)
class TopicChoice:
    topic: str
    partitions: tuple[int, ...] = ()
    """Empty means all."""


def parse_choice(text: str) -> TopicChoice:
    # A topic's name never holds a colon.
    topic, colon, listed = text.strip().partition(":")
    if not topic or (colon and not listed.strip()):
        raise click.BadParameter(f"'{text}' is not TOPIC or TOPIC:PARTITION,…, such as orders or orders:0,2.")
    return TopicChoice(topic, tuple(sorted(set(_partitions(listed, text)))) if colon else ())


def _partitions(listed: str, text: str) -> Iterable[int]:
    for piece in listed.split(","):
        matched = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", piece)
        if matched is None:
            raise click.BadParameter(f"'{piece}' in '{text}' is no partition: give 3, or 0-5 for a range.")
        first, last = int(matched[1]), int(matched[2] or matched[1])
        if not first <= last < first + PARTITIONS_MAX:
            raise click.BadParameter(f"'{piece}' in '{text}' is not a range of partitions.")
        yield from range(first, last + 1)


def expand(
    choices: Sequence[TopicChoice], existing: Mapping[str, Collection[int]], missing: str, attempt: str
) -> list[TopicPartition]:
    """The partitions that the choices name. Of one that is not among the existing, the error says `missing`
    after its name, and what to try."""
    places: set[TopicPartition] = set()
    for choice in choices:
        there = existing.get(choice.topic, ())
        wanted = choice.partitions or tuple(there)
        for partition in wanted:
            if partition not in there:
                raise _not_there(f"{choice.topic}[{partition}] {missing}", attempt)
        if not wanted:
            raise _not_there(f"{choice.topic} {missing}", attempt)
        places.update(TopicPartition(choice.topic, partition) for partition in wanted)
    return sorted(places)


def _not_there(message: str, attempt: str) -> CliError:
    return CliError(message, attempt=attempt, code=Exit.NOT_FOUND)


def places_text(places: Iterable[TopicPartition]) -> str:
    """`clicks[1], orders[0-2,5]`: many partitions in few letters."""
    by_topic: dict[str, list[int]] = {}
    for place in sorted(places):
        by_topic.setdefault(place.topic, []).append(place.partition)
    return ", ".join(f"{topic}[{_ranges(numbers)}]" for topic, numbers in by_topic.items())


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, neighbours joined: 0-2,5."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


class TopicChoiceType(click.ParamType[TopicChoice]):
    name = "topic"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TopicChoice:
        if isinstance(value, TopicChoice):
            return value
        try:
            return parse_choice(str(value))
        except click.BadParameter as error:
            self.fail(error.message, param, ctx)
