"""Which partitions a choice such as `orders:0,2` names, and how many of them are written in few letters."""

import click
import pytest

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.partition_choice import TopicChoice, expand, parse_choice, places_text
from tidelog.clients.records import TopicPartition


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("orders", TopicChoice("orders")),
        (" orders ", TopicChoice("orders")),
        ("orders:0", TopicChoice("orders", (0,))),
        ("orders:2,0, 2", TopicChoice("orders", (0, 2))),
        ("orders:0-2,7", TopicChoice("orders", (0, 1, 2, 7))),
    ],
)
def test_choices(text: str, choice: TopicChoice) -> None:
    assert parse_choice(text) == choice


@pytest.mark.parametrize(
    "text", ["", ":0", "orders:", "orders:x", "orders:0,", "orders:3-1", "orders:-1", "orders:0-999999999"]
)
def test_what_is_no_choice(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse_choice(text)


EXISTING = {"orders": [0, 1, 2], "clicks": [0]}


def expanded(*texts: str) -> list[str]:
    choices = [parse_choice(text) for text in texts]
    return [str(place) for place in expand(choices, EXISTING, "is not there.", "look")]


def test_a_topic_means_all_its_partitions_and_none_comes_twice() -> None:
    assert expanded("orders:2", "clicks", "orders") == ["clicks[0]", "orders[0]", "orders[1]", "orders[2]"]
    assert expanded("orders:1") == ["orders[1]"]


@pytest.mark.parametrize(
    ("text", "named"), [("orders:0,3", "orders[3] is not"), ("taps", "taps is not"), ("taps:0", "taps[0]")]
)
def test_what_is_not_there_is_named(text: str, named: str) -> None:
    with pytest.raises(CliError) as caught:
        expanded(text)
    assert named in caught.value.message
    assert caught.value.code is Exit.NOT_FOUND


@pytest.mark.parametrize(
    ("partitions", "text"),
    [([3], "t[3]"), ([0, 1, 2], "t[0-2]"), ([5, 0, 1, 7], "t[0-1,5,7]"), ([], "")],
)
def test_neighbours_are_joined(partitions: list[int], text: str) -> None:
    assert places_text(TopicPartition("t", number) for number in partitions) == text


def test_every_topic_is_named_once() -> None:
    places = [TopicPartition("b", 0), TopicPartition("a", 1), TopicPartition("b", 1)]
    assert places_text(places) == "a[1], b[0-1]"
