"""docs/spark.md names every option, with the default it has."""

from pathlib import Path

import pytest

from tidelog.spark.connection_options import CONNECTION
from tidelog.spark.options import Option
from tidelog.spark.source.options import SOURCE

PAGE = (Path(__file__).parents[4] / "docs" / "spark.md").read_text()


@pytest.mark.parametrize("option", [*SOURCE, *CONNECTION], ids=lambda option: option.name)
def test_every_option_is_documented(option: Option) -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| `{option.name}` |")]
    assert len(lines) == 1
    assert option.doc in lines[0], "the page says what the table says"
