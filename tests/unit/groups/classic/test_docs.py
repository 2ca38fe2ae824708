"""docs/consumer-groups.md draws the states; the drawing and the table must say the same."""

import re
from pathlib import Path

from tidelog.groups.classic.states import NEXT, State

PAGE = Path(__file__).parents[4] / "docs" / "consumer-groups.md"


def test_the_diagram_shows_the_table():
    drawn = set(re.findall(r"^    (\w+) --> (\w+):", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    table = {(state.value, after.value) for state, following in NEXT.items() for after in following}
    moved_away = {(state.value, State.DEAD.value) for state in State if state is not State.EMPTY}
    assert drawn == table - moved_away, "a group also ends in any state when its coordinator moves"
