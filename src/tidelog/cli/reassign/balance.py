"""`tidelog cluster rebalance`, `drain` and `unregister`: when a broker comes, and when one is to go."""

import sys

import click

from tidelog.cli.cluster.quorum import look_at_quorum
from tidelog.cli.cluster.view import ClusterView, look_at_cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import note, print_json
from tidelog.cli.partition_choice import places_text
from tidelog.cli.reassign.balance_plans import drained, evened
from tidelog.cli.reassign.plan import moves_between
from tidelog.cli.reassign.run import How, carry_out, how_options, refuse_if_busy
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.names import complete_topic


@click.command()
@click.argument("names", nargs=-1, metavar="[TOPIC]…", shell_complete=complete_topic)
@how_options
@broker_options
@pass_session
def rebalance(
    session: Session, names: tuple[str, ...], dry_run: bool, throttle: int | None, no_wait: bool, yes: bool
) -> None:
    """Spread replicas and leaders evenly over the brokers.

    A broker that was just added holds nothing. This moves as few replicas as it takes to even the brokers
    out, keeps the replicas of a partition on different racks, and then elects the preferred leaders.
    Without a TOPIC, it covers all topics.

    \b
    tidelog cluster rebalance --dry-run
    tidelog cluster rebalance --throttle 50MiB
    """
    direct = DirectCluster(session)
    view = look_at_cluster(direct, dict.fromkeys(names) if names else None)
    refuse_if_busy(direct, view.partitions)
    current = view.assignments()
    moves = moves_between(current, evened(current, view.alive))
    if not moves:
        _say(session, "The brokers are even already.")
        return
    carry_out(direct, view, moves, How(dry_run, throttle, not no_wait, yes))


@click.command()
@click.argument("broker", type=click.IntRange(min=0))
@how_options
@broker_options
@pass_session
def drain(
    session: Session, broker: int, dry_run: bool, throttle: int | None, no_wait: bool, yes: bool
) -> None:
    """Move all replicas away from a broker, before it is taken out of the cluster.

    The other brokers take the replicas, as evenly as racks allow. New topics may still be placed on the
    broker while it runs, so stop it soon after.

    \b
    tidelog cluster drain 3 --throttle 50MiB
    tidelog cluster remove-voter 3               # if it is a voter
    tidelog cluster unregister 3                 # once it is stopped for good
    """
    direct = DirectCluster(session)
    view = look_at_cluster(direct)
    view.broker(broker)
    refuse_if_busy(direct, view.partitions)
    _refuse_if_last(view, broker)
    current = view.assignments()
    moves = moves_between(current, drained(current, view.brokers.values(), broker))
    if moves:
        carry_out(direct, view, moves, How(dry_run, throttle, not no_wait, yes))
    if not dry_run and not no_wait:
        _say_drained(direct, broker, moved=bool(moves))


def _refuse_if_last(view: ClusterView, broker: int) -> None:
    """Replicas cannot be copied from a broker that is down."""
    if not view.brokers[broker].fenced:
        return
    lost = [
        place
        for place, part in view.partitions.items()
        if broker in part.replicas and set(part.in_sync) <= {broker}
    ]
    if lost:
        raise CliError(
            f"Only broker {broker}, which is not alive, has all records of {places_text(lost)}.",
            attempt=f"start broker {broker} first; if it is lost for good, delete these topics, or elect "
            "what is left: tidelog cluster elect-leaders --unclean TOPIC",
            code=Exit.REFUSED,
        )


def _say_drained(direct: DirectCluster, broker: int, *, moved: bool) -> None:
    session = direct.session
    if session.json:
        if not moved:
            _say(session, f"Broker {broker} holds no replicas.")
        return
    _say(session, f"Broker {broker} holds no replicas{' any more' if moved else ''}.")
    voters = look_at_quorum(direct).voters
    if any(voter.id == broker for voter in voters) and len(voters) > 1:
        note(f"It still votes on the metadata: [bold]tidelog cluster remove-voter {broker}[/]")


@click.command()
@click.argument("broker", type=click.IntRange(min=0))
@click.option(
    "-y", "--yes", is_flag=True, help="Skip the confirmation. Without a terminal it is skipped anyway."
)
@broker_options
@pass_session
def unregister(session: Session, broker: int, yes: bool) -> None:
    """Forget a broker that is stopped for good.

    It must hold no replicas (drain it first) and have no vote.
    """
    from tidelog.wire.messages.unregister_broker import UnregisterBrokerRequest

    direct = DirectCluster(session)
    view = look_at_cluster(direct)
    _refuse_if_needed(view, broker)
    voters = look_at_quorum(direct).voters
    if any(voter.id == broker for voter in voters):
        raise CliError(
            f"Broker {broker} votes on the metadata.",
            attempt=f"tidelog cluster remove-voter {broker}",
            code=Exit.REFUSED,
        )
    if not yes and sys.stdin.isatty() and not click.confirm(f"Forget broker {broker}?", err=True):
        raise CliError("Nothing was changed.")
    answer = direct.ask(UnregisterBrokerRequest(broker_id=broker))
    if answer.error_code:
        raise refusal(answer.error_code, answer.error_message, f"Broker {broker} is still registered")
    _say(session, f"Broker {broker} is forgotten.")


def _refuse_if_needed(view: ClusterView, broker: int) -> None:
    if not view.broker(broker).fenced:
        raise CliError(
            f"Broker {broker} is alive.",
            cause="it would register again at once.",
            attempt="stop it first; the cluster notices after broker.session.timeout.ms",
            code=Exit.REFUSED,
        )
    held = [place for place, part in view.partitions.items() if broker in part.replicas]
    if held:
        raise CliError(
            f"Broker {broker} still has {len(held)} replica{'s' if len(held) > 1 else ''} to hold.",
            cause="forgotten, it would leave them without a broker.",
            attempt=f"tidelog cluster drain {broker}",
            code=Exit.REFUSED,
        )


def _say(session: Session, text: str) -> None:
    if session.json:
        print_json({"message": text})
    else:
        print(text)
