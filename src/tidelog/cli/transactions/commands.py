"""`tidelog txn`: see and end transactions; abort and find-hanging have their own files."""

import time

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.group.target import DurationType
from tidelog.cli.moments import span_text, time_text
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.partition_choice import places_text
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.transactions.abort import abort
from tidelog.cli.transactions.calls import Described, describe_transaction, list_transactions
from tidelog.cli.transactions.hanging import find_hanging
from tidelog.transactions.states import BY_TEXT

STATES = [text for text, state in BY_TEXT.items() if state.name != "DEAD"]


@click.group(cls=FullHelpGroup)
def txn() -> None:
    """See transactions, and end those that hang."""


@txn.command("list")
@click.option(
    "-s",
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES, case_sensitive=False),
    help="Only transactions in this state. Repeatable.",
)
@click.option(
    "--producer-id",
    "producer_ids",
    multiple=True,
    type=click.IntRange(min=0),
    metavar="ID",
    help="Only of this producer. Repeatable.",
)
@click.option(
    "--longer-than",
    "longer_than_ms",
    type=DurationType(),
    metavar="DURATION",
    help="Only transactions that are open for longer, such as 5m.",
)
@click.option("--id", "pattern", metavar="REGEX", help="Only ids that match as a whole: 'billing-.*'.")
@broker_options
@pass_session
def list_command(
    session: Session,
    states: tuple[str, ...],
    producer_ids: tuple[int, ...],
    longer_than_ms: int | None,
    pattern: str | None,
) -> None:
    """List transactional ids with their state and coordinator."""
    found = list_transactions(
        DirectCluster(session),
        states=states,
        producer_ids=producer_ids,
        longer_than_ms=longer_than_ms,
        pattern=pattern,
    )
    if session.json:
        print_json([listed.as_json() for listed in found])
    elif not found:
        wanted = states or producer_ids or longer_than_ms is not None or pattern
        print("No transaction matches." if wanted else "There are no transactional ids.")
    else:
        print_table(
            ("Transactional id", ">Producer", "State", ">Coordinator"),
            [
                (listed.transactional_id, str(listed.producer_id), listed.state, listed.coordinator)
                for listed in found
            ],
        )


@txn.command()
@click.argument("ids", nargs=-1, required=True, metavar="TRANSACTIONAL_ID…")
@broker_options
@pass_session
def describe(session: Session, ids: tuple[str, ...]) -> None:
    """Show the state of transactions, and their partitions."""
    direct = DirectCluster(session)
    found = [describe_transaction(direct, id) for id in dict.fromkeys(ids)]
    now_ms = int(time.time() * 1000)
    if session.json:
        print_json([described.as_json(now_ms) for described in found])
        return
    for number, described in enumerate(found):
        if number:
            print()
        _show(described, now_ms)


def _show(described: Described, now_ms: int) -> None:
    from rich.markup import escape

    say(f"[bold]{escape(described.transactional_id)}[/]  {described.state}")
    rows: list[tuple[str, object]] = [
        ("Producer", f"{described.producer_id}, epoch {described.epoch}"),
        ("Coordinator", described.coordinator),
        ("Timeout", span_text(described.timeout_ms)),
    ]
    open_for = described.open_for_ms(now_ms)
    if open_for is not None:
        rows.append(("Began", f"{time_text(described.started_ms)}, {span_text(open_for)} ago"))
    rows.append(("Partitions", places_text(described.places) or "none"))
    print_table((), rows)


for command in (abort, find_hanging):
    txn.add_command(command)
