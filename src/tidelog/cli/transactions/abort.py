"""`tidelog txn abort`: end a transaction that hangs in a partition, or the open one of a transactional id.

The two differ. In a partition an abort marker is written, which no coordinator knows of: that is for what
no coordinator will end. An id's transaction is ended by its coordinator, everywhere, and its producer fenced.
"""

import sys
import time

import click

from tidelog.base.errors import ErrorCode
from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.view import ClusterView, look_at_cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json
from tidelog.cli.partition_choice import TopicChoice, TopicChoiceType
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.names import complete_topic
from tidelog.cli.transactions.calls import UNDER_WAY, ask_coordinator, describe_transaction
from tidelog.cli.transactions.hanging import GRACE_MS, transactions_of
from tidelog.cli.transactions.producer_states import ProducerState, away, look_at_producers
from tidelog.cli.transactions.suspects import Why, verdict
from tidelog.cli.transactions.topic_producers import chosen_places


@click.command()
@click.argument(
    "choice",
    required=False,
    type=TopicChoiceType(),
    metavar="[TOPIC:PARTITION]",
    shell_complete=complete_topic,
)
@click.option(
    "--producer-id",
    type=click.IntRange(min=0),
    metavar="ID",
    help="The producer whose transaction to abort, where several are open in the partition.",
)
@click.option(
    "--start-offset",
    type=click.IntRange(min=0),
    metavar="OFFSET",
    help="The transaction that begins at this offset.",
)
@click.option(
    "--transactional-id",
    metavar="ID",
    help="Instead of a partition: let the coordinator abort this id's open transaction and fence its "
    "producer.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Abort it even if a coordinator knows it. Its records in other partitions may still be committed.",
)
@click.option(
    "-y", "--yes", is_flag=True, help="Skip the confirmation. Without a terminal it is skipped anyway."
)
@broker_options
@pass_session
def abort(
    session: Session,
    choice: TopicChoice | None,
    producer_id: int | None,
    start_offset: int | None,
    transactional_id: str | None,
    force: bool,
    yes: bool,
) -> None:
    """Abort a transaction that hangs in a partition, or the open transaction of a transactional id.

    \b
    tidelog txn abort orders:0                              # the transaction that is open there
    tidelog txn abort orders:0 --producer-id 4001
    tidelog txn abort --transactional-id billing-1
    """
    if (choice is None) == (transactional_id is None):
        raise click.UsageError("Give a partition, such as orders:0, or --transactional-id.")
    if transactional_id is not None and (force or producer_id is not None or start_offset is not None):
        raise click.UsageError("--producer-id, --start-offset and --force go with a partition.")
    if choice is not None and len(choice.partitions) != 1:
        raise click.UsageError(
            f"Name one partition: {choice.topic}:0; or, if '{choice.topic}' is a transactional id: "
            f"--transactional-id {choice.topic}."
        )
    direct = DirectCluster(session)
    if transactional_id is not None:
        _abort_id(direct, transactional_id, yes)
    elif choice is not None:
        _abort_in_partition(direct, choice, producer_id, start_offset, force, yes)


def _abort_in_partition(
    direct: DirectCluster,
    choice: TopicChoice,
    producer_id: int | None,
    start_offset: int | None,
    force: bool,
    yes: bool,
) -> None:
    view = look_at_cluster(direct, [choice.topic])
    places = chosen_places((choice,), view)
    state = chosen_transaction(
        look_at_producers(direct, view, places), str(places[0]), producer_id, start_offset
    )
    if not force:
        _check_that_it_hangs(direct, state)
    _confirm(f"Abort the transaction of producer {state.producer_id} in {state.place}?", yes)
    write_abort_marker(direct, view, state)
    if direct.session.json:
        print_json({**state.as_json(), "result": "aborted"})
    else:
        print(f"Aborted the transaction of producer {state.producer_id} in {state.place}.")


def chosen_transaction(
    states: list[ProducerState], place: str, producer_id: int | None, start_offset: int | None
) -> ProducerState:
    """Returns the transaction that the options select among those open in the partition."""
    there = [state for state in states if state.open_since is not None]
    fitting = [
        state
        for state in there
        if producer_id in (None, state.producer_id) and start_offset in (None, state.open_since)
    ]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"{state.producer_id} (since offset {state.open_since})" for state in there)
    if not there:
        raise CliError(
            f"No transaction is open in {place}.",
            attempt="tidelog txn find-hanging",
            code=Exit.NOT_FOUND,
        )
    if not fitting:
        raise CliError(
            f"No such transaction is open in {place}; there are those of producer {listed}.",
            attempt="the same with --producer-id, or without --start-offset",
            code=Exit.NOT_FOUND,
        )
    raise CliError(
        f"Several transactions are open in {place}: of producer {listed}.",
        attempt="the same with --producer-id",
        code=Exit.USAGE,
    )


def _check_that_it_hangs(direct: DirectCluster, state: ProducerState) -> None:
    known = transactions_of(direct, {state.producer_id}).get(state.producer_id)
    why = verdict(state, known, int(time.time() * 1000), GRACE_MS)
    if known is not None and why in (None, Why.OVERDUE):
        raise CliError(
            f"The transaction in {state.place} does not hang: it is {known.state} for "
            f"'{known.transactional_id}', which broker {known.coordinator} coordinates.",
            cause="an abort in one partition would split it; its coordinator can abort all of it.",
            attempt=f"tidelog txn abort --transactional-id {known.transactional_id}",
            code=Exit.REFUSED,
        )


def write_abort_marker(direct: DirectCluster, view: ClusterView, state: ProducerState) -> None:
    from tidelog.wire.messages import write_txn_markers as wire

    leader = view.partitions[state.place].leader
    broker = view.broker(-1 if leader is None else leader)
    topic = wire.WritableTxnMarkerTopic(name=state.place.topic, partition_indexes=[state.place.partition])
    marker = wire.WritableTxnMarker(
        producer_id=state.producer_id,
        producer_epoch=state.epoch,
        transaction_result=False,
        topics=[topic],
        # Not higher than its coordinator's, whose own markers must not be refused after this one.
        coordinator_epoch=state.coordinator_epoch or 0,
    )
    try:
        answer = direct.ask_broker(
            (broker.host, broker.port),
            wire.WriteTxnMarkersRequest(markers=[marker]),
        )
    except Disconnected as error:
        raise away(broker.id, broker.address, error) from error
    code = answer.markers[0].topics[0].partitions[0].error_code
    if code:
        raise refusal(
            code,
            None,
            f"The transaction in {state.place} was not aborted",
            attempt="tidelog txn find-hanging",
        )


def _abort_id(direct: DirectCluster, transactional_id: str, yes: bool) -> None:
    from tidelog.wire.messages.init_producer_id import InitProducerIdRequest

    known = describe_transaction(direct, transactional_id)  # an id that is not there must not come to be
    if known.state not in UNDER_WAY:
        raise CliError(
            f"'{transactional_id}' has no transaction open: it is {known.state}.",
            attempt="tidelog txn list",
            code=Exit.NOT_FOUND,
        )
    _confirm(f"Abort the transaction of '{transactional_id}', and fence its producer?", yes)
    # As a new producer of the same name does when it comes: what is open is ended first.
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=known.timeout_ms
    )
    answer, _ = ask_coordinator(direct, transactional_id, request, lambda answer: answer.error_code)
    if answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
        raise CliError(
            f"The transaction of '{transactional_id}' is decided, but not yet complete in every partition.",
            cause="one of its partitions has no leader to write the marker.",
            attempt=f"tidelog txn describe {transactional_id}",
            code=Exit.TIMED_OUT,
        )
    if answer.error_code:
        raise refusal(answer.error_code, None, f"The transaction of '{transactional_id}' was not aborted")
    ended = describe_transaction(direct, transactional_id)
    decided = "committed" if known.state == "PrepareCommit" else "aborted"
    if direct.session.json:
        print_json({"transactional_id": transactional_id, "result": decided, "state": ended.state})
    elif decided == "committed":
        print(f"The transaction of '{transactional_id}' was committed already; its producer is fenced.")
    else:
        print(f"Aborted the transaction of '{transactional_id}'; its producer is fenced.")


def _confirm(question: str, yes: bool) -> None:
    if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
        raise CliError("Nothing was aborted.")
