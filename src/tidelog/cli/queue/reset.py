"""`tidelog queue reset`: shows where a group would start; --execute moves it."""

from collections.abc import Sequence

import click

from tidelog.cli.connection import Cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.names import complete_group
from tidelog.cli.group.plan import Step, changes, plan_target
from tidelog.cli.group.target import Goal, Target, now_ms
from tidelog.cli.group.target_options import execute_options, place_options
from tidelog.cli.output import note, print_json, print_table
from tidelog.cli.partition_choice import TopicChoice
from tidelog.cli.queue.calls import in_use, no_such_queue
from tidelog.cli.queue.moving import chosen_places, find_if_there, move_group, standings
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.choice_option import topic_choice_option

GOALS = "--to-earliest, --to-latest, --to-datetime, --by-duration or --to-offset"


@click.command(short_help="Move a queue to other offsets.")
@click.argument("name", metavar="GROUP", shell_complete=complete_group)
@topic_choice_option("A topic, or some of its partitions (jobs:0,2 or jobs:0-3). Repeatable.")
@click.option("--all-topics", is_flag=True, help="Every partition that the group reads.")
@click.option("--to-earliest", is_flag=True, help="To the first record there is: all of them come again.")
@click.option("--to-latest", is_flag=True, help="To the end: skip every record that is there.")
@place_options
@execute_options
@broker_options
@pass_session
def reset(
    session: Session,
    name: str,
    choices: tuple[TopicChoice, ...],
    all_topics: bool,
    to_earliest: bool,
    to_latest: bool,
    moment: int | None,
    duration: int | None,
    offset: int | None,
    dry_run: bool,
    execute: bool,
) -> None:
    """Move a share group to other start offsets. Shows what would change; --execute does it.

    The group must have no active members. It forgets which records after the new start were done, and how
    often each was delivered. An offset outside of a partition becomes its start or its end.

    \b
    tidelog queue reset workers --all-topics --by-duration 1h             # what would change
    tidelog queue reset workers --topic jobs --to-earliest --execute      # all jobs again
    tidelog queue reset workers --topic jobs:0 --to-offset 1200 --execute
    """
    targets = [
        target
        for is_wanted, target in (
            (to_earliest, Target(Goal.EARLIEST)),
            (to_latest, Target(Goal.LATEST)),
            (moment is not None, Target(Goal.TIME, moment or 0)),
            (duration is not None, Target(Goal.TIME, max(0, now_ms() - (duration or 0)))),
            (offset is not None, Target(Goal.OFFSET, offset or 0)),
        )
        if is_wanted
    ]
    if len(targets) != 1:
        raise click.UsageError(f"Give exactly one target: {GOALS}.")
    if dry_run and execute:
        raise click.UsageError("--dry-run and --execute contradict each other.")
    if bool(choices) == all_topics:
        raise click.UsageError(
            "Say which partitions: --topic TOPIC, --topic TOPIC:PARTITION,… or --all-topics."
        )
    [target] = targets
    direct, cluster = DirectCluster(session), Cluster(session)
    queue = find_if_there(direct, name)
    if queue is None and all_topics:
        raise no_such_queue(name, direct)
    active = len(queue.members) if queue else 0
    if execute and active:
        raise in_use(name, active)
    places = chosen_places(cluster, queue, choices)
    steps = plan_target(standings(cluster, queue, places, target), target)
    wanted = changes(steps)
    if execute and wanted:
        move_group(direct, name, wanted)
    if session.json:
        print_json(
            {
                "group": name,
                "executed": execute,
                "active_members": active,
                "partitions": [step.as_json() for step in steps],
            }
        )
    else:
        show_steps(steps)
    if not wanted:
        raise CliError(f"Group '{name}' cannot be moved that way.", code=Exit.NOT_FOUND)
    if not session.json:
        _say_what_is_left(name, len(wanted), executed=execute, active=active, exists=queue is not None)


def show_steps(steps: Sequence[Step]) -> None:
    notes = any(step.note for step in steps)
    print_table(
        (
            "Topic",
            ">Partition",
            ">Log start",
            ">End",
            ">Start",
            ">New start",
            ">New depth",
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


def _say_what_is_left(name: str, count: int, *, executed: bool, active: int, exists: bool) -> None:
    if executed:
        note(f"Group '{name}' is set in {count} partition{'s' if count != 1 else ''}.")
        return
    note("Nothing is changed yet; add --execute to do it.")
    if active:
        note(f"First stop the consumers of group '{name}': {active} active.")
    elif not exists:
        note(f"Group '{name}' does not exist yet; --execute creates it.")
