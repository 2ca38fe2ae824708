"""`tidelog cluster drain`: brokers that are to leave the cluster; `draining.py` carries it out."""

import click

from tidelog.cli.cluster.view import look_at_brokers, look_at_cluster, numbers_text
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json
from tidelog.cli.reassign.cordons import set_cordons
from tidelog.cli.reassign.draining import Drain
from tidelog.cli.reassign.run import How, how_options
from tidelog.cli.session import Session, broker_options, pass_session


@click.command()
@click.argument("brokers", type=click.IntRange(min=0), nargs=-1, metavar="[BROKER]…")
@click.option("--machine", "machines", multiple=True, metavar="NAME", help="All brokers of this machine.")
@click.option("--keep-vote", is_flag=True, help="Move replicas only; votes on the metadata stay.")
@click.option("--cancel", is_flag=True, help="Let the brokers take new replicas again; nothing moves back.")
@how_options
@broker_options
@pass_session
def drain(
    session: Session,
    brokers: tuple[int, ...],
    machines: tuple[str, ...],
    keep_vote: bool,
    cancel: bool,
    dry_run: bool,
    throttle: int | None,
    no_wait: bool,
    yes: bool,
) -> None:
    """Move all replicas away from brokers that are to leave the cluster.

    New topics are not placed on them any more (cordoned.log.dirs). A vote on the metadata goes to a broker
    that has none, or is given up. The other brokers take the replicas, as evenly as racks allow. A drained
    broker is forgotten when it stops; one that is down already, at once. Run the command again if it was
    interrupted.

    \b
    tidelog cluster drain 3 4 --throttle 50MiB
    tidelog cluster drain 3 4 --cancel
    tidelog cluster drain --machine rack-7-12
    """
    direct = DirectCluster(session)
    if not brokers and not machines:
        raise click.UsageError("Which brokers? Name them: tidelog cluster drain 3 4, or --machine NAME")
    leaving = tuple(dict.fromkeys((*brokers, *_brokers_of(direct, machines))))
    how = How(dry_run, throttle, not no_wait, yes)
    if cancel:
        view = look_at_cluster(direct, [])
        set_cordons(direct, [view.broker(id) for id in leaving], cordoned=False)
        text = f"New replicas may be placed on {numbers_text(leaving)} again."
        if session.json:
            print_json({"message": text})
        else:
            print(text)
        return
    Drain(direct, leaving, how, keep_vote=keep_vote).run()


def _brokers_of(direct: DirectCluster, machines: tuple[str, ...]) -> list[int]:
    known = look_at_brokers(direct).machines if machines else {}
    if missing := [name for name in machines if name not in known]:
        raise CliError(
            f"There is no machine {missing[0]!r} in this cluster.",
            cause="brokers name their machine with the setting broker.machine.",
            attempt="tidelog cluster brokers",
            code=Exit.NOT_FOUND,
        )
    return [broker.id for name in machines for broker in known[name]]
