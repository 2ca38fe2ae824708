"""`tidelog cluster add-voter` and `remove-voter`: changes of the metadata quorum, one voter at a time."""

import sys
from collections.abc import Callable
from typing import Any

import click

from tidelog.base.ids import Uuid, uuid_parse
from tidelog.base.voters import parse_address
from tidelog.cli.cluster.quorum import Member, Quorum, look_at_quorum
from tidelog.cli.cluster.view import ClusterView, look_at_brokers, numbers_text
from tidelog.cli.cluster.vote_changes import advice_on, request_vote, voter_listeners, withdraw_vote
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import note, print_json
from tidelog.cli.session import Session, broker_options, pass_session


class DirectoryId(click.ParamType[Uuid]):
    name = "directory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Uuid:
        try:
            return uuid_parse(str(value))
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class Address(click.ParamType[tuple[str, int]]):
    name = "address"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        try:
            return parse_address(str(value))
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


def _directory_option(meaning: str) -> Callable[..., Any]:
    return click.option("--directory", type=DirectoryId(), metavar="ID", help=meaning)


@click.command("add-voter")
@click.argument("broker", type=click.IntRange(min=0))
@_directory_option("The id of the log dir with its metadata. [default: what the quorum sees of it]")
@click.option(
    "--address",
    type=Address(),
    metavar="HOST:PORT",
    help="The address at which the other voters reach it. [default: its registered address]",
)
@click.option(
    "--listener", metavar="NAME", help="The name of that listener. [default: that of the other voters]"
)
@broker_options
@pass_session
def add_voter(
    session: Session,
    broker: int,
    directory: Uuid | None,
    address: tuple[str, int] | None,
    listener: str | None,
) -> None:
    """Give a broker a vote on the cluster's metadata.

    The broker must run and have caught up as an observer. Three or five voters are usual: three survive the
    loss of one, five the loss of two. An even number survives no more losses than the odd number below it.
    """
    direct = DirectCluster(session)
    quorum = look_at_quorum(direct)
    view = look_at_brokers(direct)
    if directory is None:
        directory = _observer(quorum, broker).directory
    _refuse_second_vote(quorum, view, broker)
    where = voter_listeners(quorum, broker, address, listener, view.brokers.get(broker))
    request_vote(direct, view, broker, directory, where)
    _tell(session, f"Broker {broker} votes now.", [*(member.id for member in quorum.voters), broker])


@click.command("remove-voter")
@click.argument("broker", type=click.IntRange(min=0))
@_directory_option("The id of the log dir with its metadata. [default: the one that votes]")
@click.option(
    "-y", "--yes", is_flag=True, help="Skip the confirmation. Without a terminal it is skipped anyway."
)
@broker_options
@pass_session
def remove_voter(session: Session, broker: int, directory: Uuid | None, yes: bool) -> None:
    """Take away a broker's vote on the cluster's metadata.

    The broker remains an observer while it runs. More than half of the voters must be up, whether or not the
    broker is one of them.
    """
    direct = DirectCluster(session)
    quorum = look_at_quorum(direct)
    voter = _voter(quorum, broker)
    count = len(quorum.voters) - 1
    if count == 0:
        raise CliError(
            f"Broker {broker} is the only voter.",
            cause="without a voter, nothing in the cluster could change.",
            attempt="tidelog cluster add-voter BROKER first",
            code=Exit.REFUSED,
        )
    if not yes and sys.stdin.isatty():
        question = (
            f"Take the vote of broker {broker} away? {count} voter{'s' if count > 1 else ''} will be left."
        )
        if not click.confirm(question, err=True):
            raise CliError("Nothing was changed.")
    withdraw_vote(direct, look_at_brokers(direct), broker, directory or voter.directory)
    left = [member.id for member in quorum.voters if member.id != broker]
    _tell(session, f"Broker {broker} votes no longer.", left)


def _observer(quorum: Quorum, broker: int) -> Member:
    found = [member for member in quorum.members if member.id == broker]
    observers = [member for member in found if not member.votes]
    if not observers and found:
        raise CliError(
            f"Broker {broker} is a voter already.", attempt="tidelog cluster quorum", code=Exit.REFUSED
        )
    if not observers:
        raise CliError(
            f"Broker {broker} does not follow the metadata of this cluster.",
            cause="it is down, has other voters in controller.quorum.voters, or started a moment ago.",
            attempt="start it, then: tidelog cluster quorum",
            code=Exit.NOT_FOUND,
        )
    if len(observers) > 1:
        shown = ", ".join(member.directory_text or "?" for member in observers)
        raise CliError(
            f"Broker {broker} follows with several log dirs: {shown}.",
            attempt=f"tidelog cluster add-voter {broker} --directory ID",
            code=Exit.REFUSED,
        )
    return observers[0]


def _refuse_second_vote(quorum: Quorum, view: ClusterView, broker: int) -> None:
    here = view.neighbours(broker)
    voters = [member.id for member in quorum.voters if member.id in here]
    if voters:
        raise CliError(
            f"Broker {voters[0]}, on the same machine as broker {broker}, has a vote already.",
            cause="both votes would be lost at once with the machine.",
            attempt=f"a broker of another machine; or first: tidelog cluster remove-voter {voters[0]}",
            code=Exit.REFUSED,
        )


def _voter(quorum: Quorum, broker: int) -> Member:
    for member in quorum.voters:
        if member.id == broker:
            return member
    voters = numbers_text(member.id for member in quorum.voters)
    raise CliError(
        f"Broker {broker} is no voter; the voters are {voters}.",
        attempt="tidelog cluster quorum",
        code=Exit.NOT_FOUND,
    )


def _tell(session: Session, text: str, voters: list[int]) -> None:
    if session.json:
        print_json({"message": text, "voters": sorted(voters)})
        return
    print(text)
    if advice := advice_on(len(voters)):
        note(advice)
