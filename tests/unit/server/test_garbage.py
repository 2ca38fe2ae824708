"""What has survived a long collection is not looked at again, and is still freed when it goes."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from tidelog.server.garbage import LONG_SECONDS, ShortCollections


class Clock:
    """Each collection takes as long as the test says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    given = Clock()
    collections = ShortCollections(given)
    collections.begin()
    yield given
    collections.end()
    assert not gc.get_freeze_count()


class Thing:
    pass


def test_a_short_collection_changes_nothing(clock: Clock) -> None:
    frozen = gc.get_freeze_count()
    kept = [Thing() for _ in range(100)]
    gc.collect()
    assert gc.get_freeze_count() == frozen
    assert kept


def test_what_survived_a_long_one_stays_out_of_the_next(clock: Clock) -> None:
    frozen = gc.get_freeze_count()
    clock.step = 2 * LONG_SECONDS
    kept = [Thing() for _ in range(100)]
    gc.collect()
    assert gc.get_freeze_count() > frozen + 100
    watched = weakref.ref(kept[0])
    kept.clear()
    assert watched() is None
