"""Up to where a partition may be deleted: the lowest start offset of all groups of the topic, or nothing."""

import pytest

from tidelog.shares.finished import StoredStart, finished_below, joined
from tidelog.shares.states import NO_START_OFFSET

EPOCH = 4


def at(offset: int, epoch: int = EPOCH) -> StoredStart:
    return StoredStart(offset, epoch)


def test_the_slowest_group_decides() -> None:
    starts = {"a": {0: at(70), 1: at(5)}, "b": {0: at(40), 1: at(9)}}
    assert finished_below(starts, 0, EPOCH, 1000) == 40
    assert finished_below(starts, 1, EPOCH, 1000) == 5


@pytest.mark.parametrize(
    ("why", "of_b"),
    {
        "a group that has not decided where it begins": {0: at(NO_START_OFFSET)},
        "a group of the topic without a state here": {1: at(90)},
        "a group whose last leader is newer": {0: at(90, EPOCH + 1)},
        "a group of which only its name is known": {},
        "a group beyond the end of a log that lost records": {0: at(1001)},
    }.items(),
    ids=str,
)
def test_one_group_holds_back_everything(why: str, of_b: dict[int, StoredStart]) -> None:
    assert finished_below({"a": {0: at(70)}, "b": of_b}, 0, EPOCH, 1000) is None, why


def test_a_topic_without_groups_keeps_everything() -> None:
    assert finished_below({}, 0, EPOCH, 1000) is None


def test_earlier_leaders_do_no_harm() -> None:
    assert finished_below({"a": {0: at(70, EPOCH - 1)}}, 0, EPOCH, 1000) == 70


def test_what_several_shards_know_is_one() -> None:
    starts = joined([("a", 0, at(7)), ("b", 1, at(8)), ("a", 1, at(9))], ["a", "b", "c"])
    assert starts == {"a": {0: at(7), 1: at(9)}, "b": {1: at(8)}, "c": {}}
