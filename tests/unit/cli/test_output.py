"""Tables and JSON: whole in a pipe, quiet about colour."""

import json

import pytest

from tidelog.base.units import size_text
from tidelog.cli.output import print_json, print_table


def test_a_pipe_gets_whole_values_without_colour(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 500
    print_table(("Name", ">Count"), [("a", 5), (long, 1_234_567)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Name", "Count"]
    assert lines[2].split() == [long, "1,234,567"]
    assert "\x1b" not in "".join(lines)
    assert all(line == line.rstrip() for line in lines)


def test_numbers_align_right_and_nothing_is_read_as_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("Name", ">N"), [("[bold]", 1), (None, 1000)])
    assert capsys.readouterr().out.splitlines() == ["Name       N", "[bold]     1", "-       1000"]


def test_json_is_one_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_json([{"a": "ü"}])
    out = capsys.readouterr().out
    assert out == '[{"a": "ü"}]\n'
    assert json.loads(out) == [{"a": "ü"}]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1_023_999, "1000 KiB"),
        (5 * 2**40, "5.0 TiB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert size_text(count) == text
