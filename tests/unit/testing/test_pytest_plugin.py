"""The settings that a test's marks ask for; a mark that would be ignored is refused."""

from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.testing.pytest_plugin import _marked_settings


def marked(*marks: pytest.MarkDecorator) -> Any:
    """A test whose nearest mark is the first one."""
    return SimpleNamespace(iter_markers=lambda name: iter([mark.mark for mark in marks]))


def test_the_nearest_mark_wins() -> None:
    test = marked(
        pytest.mark.tidelog({"num.partitions": 3}),
        pytest.mark.tidelog(settings={"num.partitions": 1, "durability": "os"}),
    )
    assert _marked_settings(test) == {"num.partitions": 3, "durability": "os"}
    assert _marked_settings(marked()) == {}


@pytest.mark.parametrize(
    "mark",
    [
        pytest.mark.tidelog(num_partitions=3),
        pytest.mark.tidelog("num.partitions=3"),
        pytest.mark.tidelog({"num.partitions": 3}, {"durability": "os"}),
        pytest.mark.tidelog(settings=None),
        pytest.mark.tidelog,
    ],
)
def test_a_mark_that_says_nothing(mark: pytest.MarkDecorator) -> None:
    with pytest.raises(pytest.UsageError, match="write the mark as"):
        _marked_settings(marked(mark))
