"""`tidelog group reset-offsets`: shows what would change; --execute does it."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from tidelog.cli.connection import Cluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.admin import find_groups, in_use, no_such_group, set_offsets
from tidelog.cli.group.names import complete_group
from tidelog.cli.group.offsets_file import parse_offsets, to_csv, to_json
from tidelog.cli.group.plan import Step, changes, plan_offsets, plan_target
from tidelog.cli.group.reset_admin import ask_standings, chosen_places
from tidelog.cli.group.share import refuse_share_groups
from tidelog.cli.group.target import Goal, Target, now_ms
from tidelog.cli.group.target_options import execute_options, place_options
from tidelog.cli.output import note, print_json, print_table
from tidelog.cli.partition_choice import TopicChoice
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.choice_option import topic_choice_option
from tidelog.clients.records import TopicPartition

GOALS = (
    "--to-earliest, --to-latest, --to-current, --to-datetime, --by-duration, --to-offset, --shift-by "
    "or --from-file"
)


@click.command("reset-offsets")
@click.argument("name", metavar="GROUP", shell_complete=complete_group)
@topic_choice_option("A topic, or some of its partitions (orders:0,2 or orders:0-3). Repeatable.")
@click.option("--all-topics", is_flag=True, help="Every partition that the group has committed.")
@click.option("--to-earliest", is_flag=True, help="To the first record there is.")
@click.option("--to-latest", is_flag=True, help="To the end: skip every record that is there.")
@click.option("--to-current", is_flag=True, help="To its current offset; with --export, a backup.")
@place_options
@click.option(
    "--shift-by", "shift", type=int, metavar="±N", help="N records on, or back where N is negative."
)
@click.option(
    "--from-file",
    "source",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="To what the file says: CSV lines topic,partition,offset, or JSON, as --export writes them. "
    "- is stdin.",
)
@click.option(
    "--export",
    "export",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write the new offsets as CSV, or as JSON where the name ends in .json. - is stdout, in place of "
    "the table.",
)
@execute_options
@broker_options
@pass_session
def reset_offsets(
    session: Session,
    name: str,
    choices: tuple[TopicChoice, ...],
    all_topics: bool,
    to_earliest: bool,
    to_latest: bool,
    to_current: bool,
    moment: int | None,
    duration: int | None,
    offset: int | None,
    shift: int | None,
    source: str | None,
    export: str | None,
    dry_run: bool,
    execute: bool,
) -> None:
    """Move a group to other offsets. Shows what would change; --execute does it.

    The group must have no active members. An offset outside of a partition becomes its start or its end.

    \b
    tidelog group reset-offsets billing --topic orders --to-earliest             # what would change
    tidelog group reset-offsets billing --topic orders --to-earliest --execute   # change it
    tidelog group reset-offsets billing --all-topics --by-duration 1h            # the last hour again
    tidelog group reset-offsets billing --topic orders:0 --shift-by -100         # 100 records back
    tidelog group reset-offsets billing --all-topics --to-current --export before.csv
    tidelog group reset-offsets billing --from-file before.csv --execute
    """
    targets = [
        target
        for is_wanted, target in (
            (to_earliest, Target(Goal.EARLIEST)),
            (to_latest, Target(Goal.LATEST)),
            (to_current, Target(Goal.CURRENT)),
            (moment is not None, Target(Goal.TIME, moment or 0)),
            (duration is not None, Target(Goal.TIME, max(0, now_ms() - (duration or 0)))),
            (offset is not None, Target(Goal.OFFSET, offset or 0)),
            (shift is not None, Target(Goal.SHIFT, shift or 0)),
        )
        if is_wanted
    ]
    if len(targets) + (source is not None) != 1:
        raise click.UsageError(f"Give exactly one target: {GOALS}.")
    if dry_run and execute:
        raise click.UsageError("--dry-run and --execute contradict each other.")
    if source is not None and (choices or all_topics):
        raise click.UsageError("The file names the partitions; --topic and --all-topics don't go with it.")
    if source is None and bool(choices) == all_topics:
        raise click.UsageError(
            "Say which partitions: --topic TOPIC, --topic TOPIC:PARTITION,… or --all-topics."
        )

    cluster = Cluster(session)
    group = find_groups(cluster, [name]).get(name)
    if group is not None:
        refuse_share_groups([group], "tidelog queue reset {name}")
    active = len(group.members) if group else 0
    if execute and active:
        raise in_use(name, active)
    if source is not None:
        offsets = _read(source)
        steps = plan_offsets(ask_standings(cluster, name, sorted(offsets)), offsets)
    elif group is None and all_topics:
        raise no_such_group(name, session)
    else:
        [target] = targets
        places = chosen_places(cluster, name, choices)
        steps = plan_target(ask_standings(cluster, name, places, target), target)

    if export is not None and export != "-":
        _write(export, steps)
    if execute and (wanted := changes(steps)):
        set_offsets(cluster, name, wanted)
    _show(session, name, steps, executed=execute, to_stdout=export == "-", active=active)
    if not changes(steps):
        raise CliError(f"None of the offsets of group '{name}' can be set that way.", code=Exit.NOT_FOUND)
    if not session.json:
        _say_what_is_left(name, steps, executed=execute, active=active, exists=group is not None)


def _read(path: str) -> dict[TopicPartition, int]:
    name = "stdin" if path == "-" else path
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        code = Exit.NOT_FOUND if isinstance(error, FileNotFoundError) else Exit.FAILED
        raise CliError(f"{name} cannot be read: {error.strerror}.", code=code) from error
    except UnicodeDecodeError as error:
        raise CliError(f"{name} is not UTF-8 text: {error}.", code=Exit.USAGE) from error
    return parse_offsets(text, name)


def _write(path: str, steps: Sequence[Step]) -> None:
    try:
        Path(path).write_text(
            (to_json if path.endswith(".json") else to_csv)(changes(steps)), encoding="utf-8"
        )
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}.") from error


def _show(
    session: Session, name: str, steps: Sequence[Step], *, executed: bool, to_stdout: bool, active: int
) -> None:
    if session.json:
        print_json(
            {
                "group": name,
                "executed": executed,
                "active_members": active,
                "partitions": [step.as_json() for step in steps],
            }
        )
    elif to_stdout:
        print(to_csv(changes(steps)), end="")
    else:
        notes = any(step.note for step in steps)
        print_table(
            (
                "Topic",
                ">Partition",
                ">Start",
                ">End",
                ">Current",
                ">New",
                ">New lag",
                *(["Note"] if notes else []),
            ),
            [
                (
                    step.place.topic,
                    step.place.partition,
                    step.bounds.low if step.bounds else None,
                    step.bounds.high if step.bounds else None,
                    step.committed,
                    step.offset,
                    step.lag,
                    *([step.note or ""] if notes else []),
                )
                for step in steps
            ],
        )


def _say_what_is_left(name: str, steps: Sequence[Step], *, executed: bool, active: int, exists: bool) -> None:
    count = len(changes(steps))
    partitions = f"{count} partition{'s' if count != 1 else ''}"
    if executed:
        note(f"Group '{name}' is set in {partitions}.")
        return
    note("Nothing is changed yet; add --execute to do it.")
    if active:
        note(f"First stop the consumers of group '{name}': {active} active.")
    elif not exists:
        note(f"Group '{name}' does not exist yet; --execute creates it.")
