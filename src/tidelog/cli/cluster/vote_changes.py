"""Votes on the metadata that change: the requests for it, and the heirs of brokers that leave the cluster."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tidelog.base.ids import Uuid
from tidelog.cli.cluster.quorum import Listener, Member, Quorum
from tidelog.cli.cluster.view import Broker, ClusterView, numbers_text
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit

LISTENER = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class Inheritance:
    """A voter that leaves, and the observer that votes in its place, if there is one."""

    voter: Member
    heir: Member | None


def plan_inheritance(quorum: Quorum, view: ClusterView, leaving: Collection[int]) -> list[Inheritance]:
    """The number of voters stays as it is while there are observers; a rack without a voter comes first.

    A machine has one vote: a second one would be lost together with the first.
    """
    staying = [member for member in quorum.voters if member.id not in leaving]
    racks = [_rack(view, member.id) for member in staying]
    machines = {_machine(view, member.id) for member in staying}
    heirs = [member for member in quorum.members if _may_inherit(member, view, leaving)]
    plan = []
    for voter in quorum.voters:
        if voter.id not in leaving:
            continue
        heirs = [member for member in heirs if _machine(view, member.id) not in machines]
        heir = min(heirs, key=lambda member: (racks.count(_rack(view, member.id)), member.id), default=None)
        if heir is not None:
            machines.add(_machine(view, heir.id))
            racks.append(_rack(view, heir.id))
        plan.append(Inheritance(voter, heir))
    if plan and not staying and all(found.heir is None for found in plan):
        raise CliError(
            f"No voter would be left without {numbers_text(leaving)}.",
            cause="without a voter, nothing in the cluster could change.",
            attempt="add a broker, then: tidelog cluster add-voter BROKER",
            code=Exit.REFUSED,
        )
    return plan


def _rack(view: ClusterView, id: int) -> object:
    """Without racks every broker is a rack of its own."""
    broker = view.brokers.get(id)
    return id if broker is None or broker.rack is None else broker.rack


def _machine(view: ClusterView, id: int) -> str | int:
    broker = view.brokers.get(id)
    return id if broker is None else broker.machine_key


def _may_inherit(member: Member, view: ClusterView, leaving: Collection[int]) -> bool:
    broker = view.brokers.get(member.id)
    return not member.votes and member.id not in leaving and broker is not None and not broker.fenced


def carry_out_inheritance(
    direct: DirectCluster, quorum: Quorum, view: ClusterView, plan: Sequence[Inheritance]
) -> None:
    """The heir votes before the voter ceases to: at no time are there fewer voters than in the end."""
    for found in plan:
        if found.heir is not None:
            heir = found.heir
            where = voter_listeners(quorum, heir.id, None, None, view.brokers.get(heir.id))
            request_vote(direct, view, heir.id, heir.directory, where)
        withdraw_vote(direct, view, found.voter.id, found.voter.directory)


def request_vote(
    direct: DirectCluster, view: ClusterView, broker: int, directory: Uuid, where: Sequence[Listener]
) -> None:
    """Give the broker a vote; CliError with the reason where the controller refuses."""
    from tidelog.wire.messages import add_raft_voter as wire

    request = wire.AddRaftVoterRequest(
        cluster_id=view.cluster_id,
        timeout_ms=int(direct.session.timeout_s * 1000),
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


def withdraw_vote(direct: DirectCluster, view: ClusterView, broker: int, directory: Uuid) -> None:
    """Take the broker's vote away; CliError with the reason where the controller refuses."""
    from tidelog.wire.messages import remove_raft_voter as wire

    request = wire.RemoveRaftVoterRequest(
        cluster_id=view.cluster_id, voter_id=broker, voter_directory_id=directory
    )
    answer = direct.ask(request)
    if answer.error_code:
        raise refusal(
            answer.error_code,
            answer.error_message,
            f"Broker {broker} is still a voter",
            attempt="tidelog cluster quorum",
        )


def voter_listeners(
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


def advice_on(votes: int) -> str | None:
    if votes % 2:
        return None
    fewer = "one alone does" if votes == 2 else f"{votes - 1} do"
    return f"{votes} voters bear no greater loss than {fewer}: add one more, or remove one."
