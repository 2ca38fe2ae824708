"""`tidelog topic reassign`: other brokers for a topic's replicas, or another number of them."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from tidelog.cli.cluster.view import ClusterView, look_at_cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.partition_choice import TopicChoice, TopicChoiceType, expand, places_text
from tidelog.cli.reassign.balance_plans import evened
from tidelog.cli.reassign.calls import Ongoing, alter_reassignments, list_reassignments
from tidelog.cli.reassign.cordons import open_brokers
from tidelog.cli.reassign.file import read_file
from tidelog.cli.reassign.plan import Move, allowed_brokers, fitted, moves_between
from tidelog.cli.reassign.progress import Tracker
from tidelog.cli.reassign.run import How, carry_out, clean_up, how_options, refuse_if_busy, wait_until_done
from tidelog.cli.reassign.throttle import find_throttles
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.names import complete_topic
from tidelog.clients.records import TopicPartition


class BrokerList(click.ParamType[tuple[int, ...]]):
    name = "brokers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        pieces = [piece.strip() for piece in str(value).split(",")]
        if not all(piece.isdigit() for piece in pieces):
            self.fail(f"'{value}' is not a list of broker numbers, such as 1,2,3.", param, ctx)
        return tuple(dict.fromkeys(map(int, pieces)))


@click.command()
@click.argument(
    "choices",
    nargs=-1,
    type=TopicChoiceType(),
    metavar="[TOPIC[:PARTITION,…]]…",
    shell_complete=complete_topic,
)
@click.option("--brokers", type=BrokerList(), metavar="ID,…", help="Spread the replicas over these brokers.")
@click.option(
    "-r",
    "--replication-factor",
    "factor",
    type=click.IntRange(min=1),
    metavar="N",
    help="Copies of each partition. [default: as now]",
)
@click.option(
    "-f", "--file", metavar="FILE", type=click.Path(dir_okay=False), help="A plan as JSON, in Kafka's format."
)
@click.option(
    "--status", is_flag=True, help="Show the moves in progress; with --wait, until they are complete."
)
@click.option(
    "--cancel", is_flag=True, help="Cancel the moves in progress; replicas return to where they were."
)
@click.option(
    "--wait",
    is_flag=True,
    help="With --status: wait until all moves are complete, then remove the throttles.",
)
@how_options
@broker_options
@pass_session
def reassign(
    session: Session,
    choices: tuple[TopicChoice, ...],
    brokers: tuple[int, ...] | None,
    factor: int | None,
    file: str | None,
    status: bool,
    cancel: bool,
    wait: bool,
    dry_run: bool,
    throttle: int | None,
    no_wait: bool,
    yes: bool,
) -> None:
    """Move replicas to other brokers, or change how many there are.

    Clients keep working while the data is copied; then the first broker of each list leads its partition.

    \b
    tidelog topic reassign orders --brokers 4,5,6 --throttle 50MiB
    tidelog topic reassign orders --replication-factor 3 --dry-run
    tidelog topic reassign --file plan.json       # as Kafka's own tool reads and writes them
    tidelog topic reassign --status
    """
    plans = brokers is not None or factor is not None
    _check_call(choices, plans, file, status, cancel, wait)
    direct = DirectCluster(session)
    if status:
        _show_status(direct, choices, wait)
    elif cancel:
        _cancel(direct, choices, How(dry_run, None, not no_wait, yes))
    else:
        view, moves = _plan(direct, choices, brokers, factor, file)
        if not moves:
            _nothing(session, "All replicas are where they should be.")
            return
        carry_out(direct, view, moves, How(dry_run, throttle, not no_wait, yes))


def _check_call(
    choices: Sequence[TopicChoice], plans: bool, file: str | None, status: bool, cancel: bool, wait: bool
) -> None:
    asked = [plans, file is not None, status, cancel]
    if sum(asked) > 1:
        raise click.UsageError("Give only one of --brokers (or -r), --file, --status and --cancel.")
    if not any(asked):
        raise click.UsageError("Give a target: --brokers 1,2,3, --replication-factor N, or --file plan.json.")
    if plans and not choices:
        raise click.UsageError("Which topics? Name them: tidelog topic reassign orders --brokers 1,2,3")
    if file is not None and choices:
        raise click.UsageError("The file names the topics; leave them out.")
    if wait and not status:
        raise click.UsageError(
            "--wait goes with --status; without it, the command waits for new moves by default."
        )


def _plan(
    direct: DirectCluster,
    choices: Sequence[TopicChoice],
    brokers: tuple[int, ...] | None,
    factor: int | None,
    file: str | None,
) -> tuple[ClusterView, list[Move]]:
    if file is not None:
        wanted = read_file(file)
        view = look_at_cluster(direct, dict.fromkeys(place.topic for place in wanted))
        _expand([TopicChoice(place.topic, (place.partition,)) for place in wanted], view)
        refuse_if_busy(direct, wanted)
        allowed_brokers(view, [id for replicas in wanted.values() for id in replicas])
        return view, moves_between(view.assignments(), wanted)
    view = look_at_cluster(direct, dict.fromkeys(choice.topic for choice in choices))
    current = {place: view.partitions[place].replicas for place in _expand(choices, view)}
    refuse_if_busy(direct, current)
    allowed = open_brokers(direct, view) if brokers is None else allowed_brokers(view, brokers)
    in_sync = {place: view.partitions[place].in_sync for place in current}
    plan = fitted(current, allowed, factor, in_sync)
    return view, moves_between(current, evened(plan, allowed) if brokers is not None else plan)


def _expand(choices: Sequence[TopicChoice], view: ClusterView) -> list[TopicPartition]:
    existing = {topic: [part.place.partition for part in parts] for topic, parts in view.topics.items()}
    return expand(choices, existing, "does not exist.", "tidelog topic describe")


def _chosen(direct: DirectCluster, choices: Sequence[TopicChoice]) -> dict[TopicPartition, Ongoing]:
    """What is on the move, of these topics or of all."""
    if not choices:
        return list_reassignments(direct)
    view = look_at_cluster(direct, dict.fromkeys(choice.topic for choice in choices))
    return list_reassignments(direct, _expand(choices, view))


def _show_status(direct: DirectCluster, choices: Sequence[TopicChoice], wait: bool) -> None:
    session, moving = direct.session, _chosen(direct, choices)
    copies = {place: move.adding for place, move in moving.items()}
    if wait:
        if moving:
            wait_until_done(direct, copies)
        else:
            clean_up(direct, list(look_at_cluster(direct).topics))
        _nothing(session, "The moves are complete." if moving else "No moves are in progress.")
        return
    if not moving:
        _nothing(session, "No moves are in progress.")
        _mention_throttles(direct)
        return
    found = Tracker(direct, copies).look()
    if session.json:
        print_json(
            {
                "partitions": [_as_json(move) for move in moving.values()],
                "bytes_total": found.bytes_total,
                "bytes_done": found.bytes_done,
                "waiting_for_brokers": list(found.waiting_for),
            }
        )
        return
    print_table(
        ("Topic", ">Partition", "Replicas then", "Coming", "Going"),
        [(*move.place, move.target, move.adding or None, move.removing or None) for move in moving.values()],
    )
    print()
    print(f"{found.text()}.")


def _mention_throttles(direct: DirectCluster) -> None:
    view = look_at_cluster(direct)
    brokers, topics = find_throttles(direct, view, view.topics)
    if (brokers or topics) and not direct.session.json:
        say("Throttles are still set. Remove them with: [bold]tidelog topic reassign --status --wait[/]")


def _cancel(direct: DirectCluster, choices: Sequence[TopicChoice], how: How) -> None:
    session, moving = direct.session, _chosen(direct, choices)
    if not moving:
        _nothing(session, "No moves are in progress.")
        return
    shown = places_text(moving)
    if how.dry_run:
        _nothing(session, f"Would cancel {shown}.")
        return
    if not how.yes and sys.stdin.isatty() and not click.confirm(f"Cancel the moves of {shown}?", err=True):
        raise CliError("Nothing was cancelled.")
    refused = alter_reassignments(direct, dict.fromkeys(moving))
    # One that has arrived a moment before is no failure: there is nothing left to cancel.
    refused = {place: error for place, error in refused.items() if error.code is not Exit.NOT_FOUND}
    clean_up(direct, [place.topic for place in moving])
    if session.json:
        print_json({"cancelled": [_as_json(move) for place, move in moving.items() if place not in refused]})
    else:
        print(f"Cancelled: {places_text(place for place in moving if place not in refused) or 'nothing'}.")
    if refused:
        raise next(iter(refused.values()))


def _as_json(move: Ongoing) -> dict[str, Any]:
    return {
        "topic": move.place.topic,
        "partition": move.place.partition,
        "replicas": list(move.replicas),
        "target": list(move.target),
        "adding": list(move.adding),
        "removing": list(move.removing),
    }


def _nothing(session: Session, text: str) -> None:
    if session.json:
        print_json({"partitions": [], "message": text})
    else:
        print(text)
