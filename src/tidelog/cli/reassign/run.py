"""From a plan to replicas that have moved: show it, ask, limit the copying, start, wait, clean up."""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from tidelog.base.units import parse_bytes, size_text
from tidelog.cli.cluster.elect_leaders import Election, elect_leaders
from tidelog.cli.cluster.log_dir_sizes import look_at_log_dirs
from tidelog.cli.cluster.view import ClusterView, look_at_cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import note, print_json, print_table
from tidelog.cli.reassign.calls import alter_reassignments, list_reassignments
from tidelog.cli.reassign.file import as_file
from tidelog.cli.reassign.plan import Move
from tidelog.cli.reassign.progress import Tracker, follow_on_screen
from tidelog.cli.reassign.throttle import remove_throttle, set_throttle
from tidelog.clients.records import TopicPartition

Command = TypeVar("Command", bound=Callable[..., Any])
ROWS_SHOWN = 50
AT_A_TIME = 1000  # partitions in one request
SPREAD_SECONDS = 5.0
"""What the controller has done, other brokers may tell a little later."""
LOOK_SECONDS = 0.1


class Rate(click.ParamType[int]):
    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip().removesuffix("/s")
        try:
            rate = int(text) if text.isdigit() else parse_bytes(text)
        except ValueError as error:
            self.fail(f"'{value}': {error}.", param, ctx)
        if rate < 1:
            self.fail("At least one byte a second is wanted.", param, ctx)
        return rate


@dataclass(frozen=True, slots=True)
class How:
    """What the options say about carrying out a plan."""

    dry_run: bool
    throttle: int | None
    wait: bool
    yes: bool


def how_options(command: Command) -> Command:
    """`--dry-run`, `--throttle`, `--no-wait` and `--yes`, of every command that moves replicas."""
    options = (
        click.option("-n", "--dry-run", is_flag=True, help="Show the plan and do nothing."),
        click.option(
            "--throttle",
            type=Rate(),
            metavar="RATE",
            help="The most bytes a second that a broker copies, such as 50MiB; removed at the end.",
        ),
        click.option("--no-wait", is_flag=True, help="Start the moves and return; throttles stay set."),
        click.option(
            "-y",
            "--yes",
            is_flag=True,
            help="Skip the confirmation. Without a terminal it is skipped anyway.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def carry_out(direct: DirectCluster, view: ClusterView, moves: Sequence[Move], how: How) -> None:
    """Every step of it, with a report at the end; CliError says what could not be done."""
    session = direct.session
    sizes = sizes_of(direct, view, moves)
    if not session.json:
        _show(moves, sizes)
    elif how.dry_run:
        print_json(as_file({move.place: move.after for move in moves}))
    if how.dry_run:
        return
    if not how.yes and sys.stdin.isatty() and not click.confirm("Start these moves?", err=True):
        raise CliError("Nothing was moved.")
    began = time.monotonic()
    if how.throttle is not None:
        set_throttle(direct, view, moves, how.throttle)
    try:
        refused = _start(direct, moves)
    except CliError:
        clean_up(direct, [move.place.topic for move in moves])
        raise
    started = [move for move in moves if move.place not in refused]
    result: dict[str, Any] = {
        "before": as_file({move.place: move.before for move in moves}),
        "after": as_file({move.place: move.after for move in started}),
        "refused": {str(place): error.message for place, error in refused.items()},
    }
    if how.wait and started:
        wait_until_done(direct, {move.place: move.adding for move in started})
        _elect(direct, started)
        result |= {"finished": True, "seconds": round(time.monotonic() - began, 3)}
    else:
        result |= {"finished": False}
    if not started:
        clean_up(direct, [move.place.topic for move in moves])
    _report(session.json, result, len(started))
    if refused:
        raise next(iter(refused.values()))
    if how.wait:
        _check_arrival(direct, started)


def wait_until_done(direct: DirectCluster, copies: Mapping[TopicPartition, Sequence[int]]) -> None:
    """Follow the moves to their end, then take the throttles away. Ctrl-C leaves both as they are."""
    tracker = Tracker(direct, copies)
    try:
        if direct.session.json:
            tracker.follow(lambda _: None)
        else:
            follow_on_screen(tracker)
    except KeyboardInterrupt:
        if not direct.session.json:
            note(
                "The moves continue, and their throttles stay set. Follow and complete them with: "
                "[bold]tidelog topic reassign --status --wait[/]\n"
                "Stop them with: [bold]tidelog topic reassign --cancel[/]"
            )
        raise
    clean_up(direct, [place.topic for place in copies])


def clean_up(direct: DirectCluster, topics: Sequence[str]) -> None:
    """Throttles go when nothing moves any more; another plan under way may still need them."""
    if list_reassignments(direct):
        return
    removed = remove_throttle(direct, look_at_cluster(direct, []), dict.fromkeys(topics))
    if removed and not direct.session.json:
        note("The throttles are removed.")


def _start(direct: DirectCluster, moves: Sequence[Move]) -> dict[TopicPartition, CliError]:
    refused: dict[TopicPartition, CliError] = {}
    for first in range(0, len(moves), AT_A_TIME):
        refused |= alter_reassignments(
            direct, {move.place: move.after for move in moves[first : first + AT_A_TIME]}
        )
    return refused


def refuse_if_busy(direct: DirectCluster, places: Iterable[TopicPartition]) -> None:
    """A plan starts from where the replicas are, which is not fixed while they move."""
    busy = list_reassignments(direct, places)
    if busy:
        first = next(iter(busy))
        raise CliError(
            f"{first} is being moved already" + (f", and {len(busy) - 1} more." if len(busy) > 1 else "."),
            attempt="tidelog topic reassign --status --wait, or --cancel",
            code=Exit.REFUSED,
        )


def _elect(direct: DirectCluster, moves: Sequence[Move]) -> None:
    """The first replica leads from now on; where it cannot yet, the controller will see to it later."""
    wanted = [move.place for move in moves if move.after[0] != move.before[0]]
    if wanted:
        elect_leaders(direct, Election.PREFERRED, wanted)


def _check_arrival(direct: DirectCluster, moves: Sequence[Move]) -> None:
    deadline = time.monotonic() + SPREAD_SECONDS
    while (strayed := _strayed(direct, moves)) is not None:
        if time.monotonic() > deadline:
            raise strayed
        time.sleep(LOOK_SECONDS)


def _strayed(direct: DirectCluster, moves: Sequence[Move]) -> CliError | None:
    """The first that is not where it should be, as far as the broker that is asked knows by now."""
    view = look_at_cluster(direct, dict.fromkeys(move.place.topic for move in moves))
    for move in moves:
        found = view.partitions.get(move.place)
        if found is None or set(found.replicas) != set(move.after):
            there = "gone" if found is None else f"on {found.replicas}"
            return CliError(
                f"{move.place} was to be on {move.after}, but is {there}.",
                cause="the move was cancelled, or another was started.",
                attempt=f"tidelog topic describe {move.place.topic}",
            )
    return None


def sizes_of(direct: DirectCluster, view: ClusterView, moves: Sequence[Move]) -> dict[TopicPartition, int]:
    copied = [move.place for move in moves if move.adding]
    sizes: dict[TopicPartition, int] = {}
    for stored in look_at_log_dirs(direct, view.alive, copied).values() if copied else ():
        for place, size in stored.sizes.items():
            sizes[place] = max(size, sizes.get(place, 0))
    return sizes


def _show(moves: Sequence[Move], sizes: Mapping[TopicPartition, int]) -> None:
    print_table(
        ("Topic", ">Partition", "Replicas now", "Replicas then", "Copied to", ">Size"),
        [
            (
                move.place.topic,
                move.place.partition,
                move.before,
                move.after,
                move.adding or None,
                size_text(sizes[move.place]) if move.adding and move.place in sizes else None,
            )
            for move in moves[:ROWS_SHOWN]
        ],
    )
    if len(moves) > ROWS_SHOWN:
        print(f"… and {len(moves) - ROWS_SHOWN} more; --dry-run --json shows all")
    total = sum(sizes.get(move.place, 0) * len(move.adding) for move in moves)
    print()
    print(summary(moves, total))


def summary(moves: Sequence[Move], copied_bytes: int) -> str:
    copies = sum(len(move.adding) for move in moves)
    dropped = sum(len(move.removing) for move in moves)
    leaders = sum(move.after[0] != move.before[0] for move in moves)
    parts = [_counted(len(moves), "partition")]
    if copies:
        parts.append(f"{_counted(copies, 'replica')} to copy ({size_text(copied_bytes)})")
    if dropped:
        parts.append(f"{_counted(dropped, 'replica')} to remove")
    if leaders:
        parts.append(f"{_counted(leaders, 'preferred leader')} to change")
    return ", ".join(parts) + "."


def _report(as_json: bool, result: Mapping[str, Any], started: int) -> None:
    if as_json:
        print_json(result)
        return
    word = _counted(started, "partition")
    if result["finished"]:
        print(f"Moved {word} in {result['seconds']:.1f} s.")
    elif started:
        print(f"{word} began to move. See their progress: tidelog topic reassign --status")


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
