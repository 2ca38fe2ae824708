"""`tidelog cluster rebalance` and `unregister`: when a broker comes, and when one is gone."""

import sys

import click

from tidelog.cli.cluster.quorum import look_at_quorum
from tidelog.cli.cluster.view import ClusterView, look_at_cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json
from tidelog.cli.reassign.balance_plans import evened
from tidelog.cli.reassign.cordons import open_brokers
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
    moves = moves_between(current, evened(current, open_brokers(direct, view)))
    if not moves:
        _say(session, "The brokers are even already.")
        return
    carry_out(direct, view, moves, How(dry_run, throttle, not no_wait, yes))


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
    request_unregistration(direct, broker)
    _say(session, f"Broker {broker} is forgotten.")


def request_unregistration(direct: DirectCluster, broker: int) -> None:
    from tidelog.wire.messages.unregister_broker import UnregisterBrokerRequest

    answer = direct.ask(UnregisterBrokerRequest(broker_id=broker))
    if answer.error_code:
        raise refusal(answer.error_code, answer.error_message, f"Broker {broker} is still registered")


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
