"""`tidelog cluster add-voter` and `remove-voter`: changes of the metadata quorum, one voter at a time."""

import sys
from collections.abc import Callable
from typing import Any

import click

from tidelog.base.ids import Uuid, uuid_parse
from tidelog.base.voters import parse_address
from tidelog.cli.cluster.quorum import Listener, Member, Quorum, look_at_quorum
from tidelog.cli.cluster.view import Broker, look_at_brokers, numbers_text
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import note, print_json
from tidelog.cli.session import Session, broker_options, pass_session

LISTENER = "PLAINTEXT"


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
    from tidelog.wire.messages import add_raft_voter as wire

    direct = DirectCluster(session)
    quorum = look_at_quorum(direct)
    view = look_at_brokers(direct)
    if directory is None:
        directory = _observer(quorum, broker).directory
    where = _listeners(quorum, broker, address, listener, view.brokers.get(broker))
    request = wire.AddRaftVoterRequest(
        cluster_id=view.cluster_id,
        timeout_ms=int(session.timeout_s * 1000),
        voter_id=broker,
        voter_directory_id=directory,
        listeners=[wire.Listener(name=found.name, host=found.host, port=found.port) for found in where],
    )
    answer = direct.ask(request)
    if answer.error_code:
        raise refusal(
            answer.error_code,
            answer.error_message,
            f"Broker {broker} did not become a voter",
            attempt="tidelog cluster quorum",
        )
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
    from tidelog.wire.messages import remove_raft_voter as wire

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
    request = wire.RemoveRaftVoterRequest(
        cluster_id=look_at_brokers(direct).cluster_id,
        voter_id=broker,
        voter_directory_id=directory or voter.directory,
    )
    answer = direct.ask(request)
    if answer.error_code:
        raise refusal(
            answer.error_code,
            answer.error_message,
            f"Broker {broker} is still a voter",
            attempt="tidelog cluster quorum",
        )
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


def _listeners(
    quorum: Quorum, id: int, given: tuple[str, int] | None, name: str | None, registered: Broker | None
) -> tuple[Listener, ...]:
    name = name or next((voter.listeners[0].name for voter in quorum.voters if voter.listeners), LISTENER)
    if given is not None:
        return (Listener(name, *given),)
    listeners = next(
        (member.listeners for member in quorum.members if member.id == id and member.listeners), ()
    )
    if listeners:
        return listeners
    if registered is not None:
        return (Listener(name, registered.host, registered.port),)
    raise CliError(
        f"The address of broker {id} is not known.",
        attempt=f"tidelog cluster add-voter {id} --address HOST:PORT",
        code=Exit.NOT_FOUND,
    )


def _tell(session: Session, text: str, voters: list[int]) -> None:
    if session.json:
        print_json({"message": text, "voters": sorted(voters)})
        return
    print(text)
    if advice := advice_on(len(voters)):
        note(advice)


def advice_on(votes: int) -> str | None:
    if votes % 2:
        return None
    fewer = "one alone does" if votes == 2 else f"{votes - 1} do"
    return f"{votes} voters bear no greater loss than {fewer}: add one more, or remove one."
