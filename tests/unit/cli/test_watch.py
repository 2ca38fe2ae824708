"""Looking again and again: in place on a terminal, line by line through a pipe, until Ctrl-C."""

import json
import sys
from collections.abc import Callable, Iterator

import pytest

from tidelog.cli import watch
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.cli.watch import HIDE_CURSOR, SHOW_CURSOR, fitted, redrawn, show

LOST = CliError("No broker answers.", code=Exit.UNREACHABLE)


def looks(*turns: object) -> Callable[[], object]:
    """Finds these one after the other, raises those that are errors, then a person presses Ctrl-C."""
    left: Iterator[object] = iter([*turns, KeyboardInterrupt()])

    def look() -> object:
        found = next(left)
        if isinstance(found, BaseException):
            raise found
        return found

    return look


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(watch.time, "sleep", waited.append)
    return waited


def run(*turns: object, session: Session | None = None, interval_s: float = 2.0) -> None:
    with pytest.raises(KeyboardInterrupt):
        show(
            session or Session(),
            looks(*turns),
            lambda found: {"found": found},
            print,
            watch=True,
            interval_s=interval_s,
        )


def test_once(capsys: pytest.CaptureFixture[str]) -> None:
    show(Session(), looks("one"), list, print, watch=False, interval_s=1)
    assert capsys.readouterr().out == "one\n"
    show(Session(json=True), looks("one"), lambda found: [found], print, watch=False, interval_s=1)
    assert json.loads(capsys.readouterr().out) == ["one"]


def test_through_a_pipe_turns_follow_each_other(
    capsys: pytest.CaptureFixture[str], waits: list[float]
) -> None:
    run("one", "two", interval_s=0.5)
    assert capsys.readouterr().out == "one\n\ntwo\n\n"
    assert waits == [0.5, 0.5]


def test_as_json_a_turn_is_a_line(capsys: pytest.CaptureFixture[str], waits: list[float]) -> None:
    run([1, 2], [3], session=Session(json=True))
    assert capsys.readouterr().out.splitlines() == ['{"found":[1,2]}', '{"found":[3]}']


def test_on_a_terminal_a_turn_is_drawn_over_the_last(
    capsys: pytest.CaptureFixture[str], waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    run("one\nand more", "two")
    out = capsys.readouterr().out
    assert out.count("Ctrl-C ends") == 2
    first, second = out.split("\x1b[3F")  # the head and two lines are gone over
    assert first.startswith(HIDE_CURSOR)
    assert "one\x1b[K\nand more\x1b[K\n" in first
    assert second.endswith("two\x1b[K\n\x1b[J" + SHOW_CURSOR)


def test_a_broker_that_goes_is_waited_for(capsys: pytest.CaptureFixture[str], waits: list[float]) -> None:
    run("one", LOST, "two")
    caught = capsys.readouterr()
    assert caught.out == "one\n\ntwo\n\n"
    assert caught.err == "No broker answers.\n"


def test_a_lost_broker_is_told_to_programs_as_json(
    capsys: pytest.CaptureFixture[str], waits: list[float]
) -> None:
    run("one", LOST, session=Session(json=True))
    assert json.loads(capsys.readouterr().err)["error"] == "UNREACHABLE"


@pytest.mark.parametrize("turns", [[LOST], ["one", CliError("gone", code=Exit.NOT_FOUND)]])
def test_other_errors_end_it(turns: list[object], waits: list[float]) -> None:
    with pytest.raises(CliError):
        show(Session(), looks(*turns), str, print, watch=True, interval_s=1)


def test_what_does_not_fit_is_counted() -> None:
    lines = [str(number) for number in range(10)]
    assert fitted(lines, 11) == lines
    assert fitted(lines, 10) == [*lines[:8], "… and 2 more lines"]
    assert len(fitted(lines, 1)) == 2


def test_the_first_turn_goes_over_nothing() -> None:
    assert redrawn(["a"], 0) == "a\x1b[K\n\x1b[J"
    assert redrawn(["a"], 4).startswith("\x1b[4F")
