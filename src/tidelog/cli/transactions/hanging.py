"""`tidelog txn find-hanging`: transactions that hold readers back and will not end by themselves."""

import time

import click

from tidelog.cli.cluster.view import ClusterView, look_at_cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.target import DurationType
from tidelog.cli.moments import time_text
from tidelog.cli.output import note, print_json, print_table
from tidelog.cli.partition_choice import TopicChoice, TopicChoiceType
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.names import complete_topic
from tidelog.cli.transactions.calls import (
    Described,
    describe_transaction,
    list_transactions,
    look_at_state_topic,
)
from tidelog.cli.transactions.producer_states import look_at_producers
from tidelog.cli.transactions.suspects import Suspect, suspects
from tidelog.cli.transactions.topic_producers import chosen_places
from tidelog.clients.records import TopicPartition

GRACE_MS = 60_000


@click.command("find-hanging")
@click.argument(
    "choices",
    nargs=-1,
    type=TopicChoiceType(),
    metavar="[TOPIC[:PARTITION,…]]…",
    shell_complete=complete_topic,
)
@click.option(
    "--grace",
    "grace_ms",
    type=DurationType(),
    default="1m",
    metavar="DURATION",
    help="How far beyond its timeout a transaction counts as hanging. [default: 1m]",
)
@click.option("--check", is_flag=True, help="Exit with code 1 if there is one, for scripts.")
@broker_options
@pass_session
def find_hanging(session: Session, choices: tuple[TopicChoice, ...], grace_ms: int, check: bool) -> int:
    """Find open transactions that will never end by themselves.

    Asks every partition for its open transactions, and every coordinator for the transactions that it knows.
    A transaction hangs if no coordinator knows its producer, if its coordinator does not list the partition,
    or if it is open far beyond its timeout. Readers of committed records wait for it.

    \b
    tidelog txn find-hanging               # in all topics
    tidelog txn find-hanging orders:0-3
    """
    direct = DirectCluster(session)
    found = look_for_suspects(direct, choices, grace_ms)
    if session.json:
        print_json([suspect.as_json() for suspect in found])
    elif not found:
        print("No transaction hangs.")
    else:
        show_suspects(found)
    return Exit.FAILED if check and found else Exit.OK


def look_for_suspects(
    direct: DirectCluster, choices: tuple[TopicChoice, ...], grace_ms: int
) -> list[Suspect]:
    _need_every_coordinator(direct)
    view = look_at_cluster(direct, dict.fromkeys(choice.topic for choice in choices) if choices else None)
    places = chosen_places(choices, view) if choices else _with_leaders(view)
    before = [state for state in look_at_producers(direct, view, places) if state.open_since is not None]
    if not before:
        return []
    known = transactions_of(direct, {state.producer_id for state in before})
    after = look_at_producers(direct, view, {state.place for state in before})
    return suspects(before, known, after, now_ms=int(time.time() * 1000), grace_ms=grace_ms)


def _with_leaders(view: ClusterView) -> list[TopicPartition]:
    led = [part.place for part in view.partitions.values() if part.leader is not None]
    if missing := len(view.partitions) - len(led):
        note(f"Not checked: {missing} partition{'s' if missing != 1 else ''} without a leader.")
    return led


def transactions_of(direct: DirectCluster, producer_ids: set[int]) -> dict[int, Described]:
    """What coordinators know of these producers."""
    known: dict[int, Described] = {}
    for listed in list_transactions(direct, producer_ids=producer_ids):
        try:
            described = describe_transaction(direct, listed.transactional_id)
        except CliError as error:
            if error.code is not Exit.NOT_FOUND:  # expired since
                raise
            continue
        known[described.producer_id] = described
    return known


def _need_every_coordinator(direct: DirectCluster) -> None:
    """Transactions of a coordinator that is down would look as if they had none."""
    view = look_at_state_topic(direct)
    if any(part.leader is None for part in view.partitions.values()):
        raise CliError(
            "Some transactions have no coordinator now, so it is not known whether they hang.",
            cause="partitions of __transaction_state have no leader: brokers are down.",
            attempt="tidelog cluster status",
            code=Exit.UNREACHABLE,
        )


def show_suspects(found: list[Suspect]) -> None:
    print_table(
        ("Partition", ">Producer", ">Epoch", ">Open since", "Last written", "Transactional id", "Why"),
        [
            (
                str(suspect.state.place),
                str(suspect.state.producer_id),
                suspect.state.epoch,
                suspect.state.open_since,
                time_text(suspect.state.last_timestamp_ms),
                None if suspect.transaction is None else suspect.transaction.transactional_id,
                suspect.why.value,
            )
            for suspect in found
        ],
    )
    print()
    for suspect in found:
        place = suspect.state.place
        if suspect.needs_marker or suspect.transaction is None:
            print(
                f"Try: tidelog txn abort {place.topic}:{place.partition} "
                f"--producer-id {suspect.state.producer_id}"
            )
        else:
            print(f"Try: tidelog txn abort --transactional-id {suspect.transaction.transactional_id}")
