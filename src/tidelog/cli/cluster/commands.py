"""`tidelog cluster`: how the brokers are; the commands that change a cluster have their own files."""

import time

import click

from tidelog.cli.cluster.can_stop import can_stop
from tidelog.cli.cluster.elections import elect_leaders_command
from tidelog.cli.cluster.health import Health, Report
from tidelog.cli.cluster.live import LiveStatus, show_live
from tidelog.cli.cluster.log_dir_sizes import look_at_log_dirs
from tidelog.cli.cluster.quorum import Quorum, look_at_quorum
from tidelog.cli.cluster.tables import Row, broker_rows, member_rows, show_brokers, show_quorum, show_status
from tidelog.cli.cluster.upgrade import features, upgrade
from tidelog.cli.cluster.view import look_at_brokers, look_at_cluster
from tidelog.cli.cluster.voters import add_voter, remove_voter
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, read_settings
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.reassign.balance import rebalance, unregister
from tidelog.cli.reassign.calls import list_reassignments
from tidelog.cli.reassign.drain import drain
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.watch import show, watch_options

WAIT_LOOK_S = 0.3
MIN_IN_SYNC = "min.insync.replicas"
QUORUM_PATIENCE_S = 5.0
"""Without a controller a broker looks for one for long before it says so."""


@click.group(cls=FullHelpGroup)
def cluster() -> None:
    """See and change the brokers of a cluster."""


@cluster.command()
@click.option("--check", is_flag=True, help="Exit with code 1 if the cluster is not healthy, for scripts.")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Wait up to this long for the cluster to become healthy, else exit with code 1.",
)
@watch_options
@broker_options
@pass_session
def status(session: Session, check: bool, wait_s: float | None, watch: bool, interval: float) -> int:
    """Show whether the cluster is healthy, and what to do if it is not."""
    if watch and wait_s is not None:
        raise click.UsageError("Give --watch or --wait, not both.")
    direct = DirectCluster(session)
    found = look_until_healthy(direct, wait_s or 0)

    if watch:
        show(
            session,
            lambda: look_at_live(session, direct),
            LiveStatus.as_json,
            show_live,
            watch=True,
            interval_s=interval,
            line=lambda live: live.line(time.strftime("%H:%M:%S")),
        )
    show(session, lambda: found, Report.as_json, show_status, watch=False, interval_s=interval)
    asked = check or wait_s is not None
    return Exit.FAILED if asked and found.health is not Health.HEALTHY else Exit.OK


@cluster.command()
@watch_options
@broker_options
@pass_session
def brokers(session: Session, watch: bool, interval: float) -> None:
    """List the brokers, with the partitions that each leads and holds."""
    direct = DirectCluster(session)

    def look() -> list[dict[str, object]]:
        view = look_at_cluster(direct)
        silent: set[int] = set()
        stored = look_at_log_dirs(direct, view.alive, silent=silent)
        return broker_rows(view, quorum_if_any(direct), stored, silent)

    show(session, look, lambda rows: rows, show_brokers, watch=watch, interval_s=interval)


@cluster.command()
@watch_options
@broker_options
@pass_session
def quorum(session: Session, watch: bool, interval: float) -> None:
    """Show the voters and observers of the cluster's metadata, and how far each has got."""
    direct = DirectCluster(session)

    def look() -> tuple[Quorum, dict[int, str]]:
        brokers = look_at_brokers(direct).brokers.values()
        return look_at_quorum(direct), {broker.id: broker.address for broker in brokers}

    def as_json(found: tuple[Quorum, dict[int, str]]) -> object:
        quorum, addresses = found
        return {
            "leader": quorum.leader,
            "epoch": quorum.epoch,
            "high_watermark": quorum.high_watermark,
            "members": member_rows(quorum, _now_ms(), addresses),
        }

    def draw(found: tuple[Quorum, dict[int, str]]) -> None:
        quorum, addresses = found
        show_quorum(quorum, _now_ms(), addresses)

    show(session, look, as_json, draw, watch=watch, interval_s=interval)


def look_until_healthy(direct: DirectCluster, patience_s: float) -> Report:
    """Returns the last report. With patience, waits for a cluster that does not answer yet as well."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            found = look_at_health(direct)
        except CliError as error:
            if error.code not in (Exit.UNREACHABLE, Exit.TIMED_OUT) or time.monotonic() >= deadline:
                raise
        else:
            if found.health is Health.HEALTHY or time.monotonic() >= deadline:
                return found
        time.sleep(WAIT_LOOK_S)


def look_at_health(direct: DirectCluster) -> Report:
    view = look_at_cluster(direct)
    short = dict.fromkeys(part.place.topic for part in view.partitions.values() if part.is_under_replicated)
    settings = read_settings(direct, Kind.TOPIC, short, [MIN_IN_SYNC])
    quorum = quorum_if_any(direct)
    return Report(
        view=view,
        quorum=quorum,
        reassigning=[] if quorum is None else list(list_reassignments(direct)),  # the controller knows
        min_in_sync={topic: int(found.get(MIN_IN_SYNC, 1)) for topic, found in settings.items()},
    )


def look_at_live(session: Session, direct: DirectCluster) -> LiveStatus:
    report = look_at_health(direct)
    silent: set[int] = set()
    stored = look_at_log_dirs(direct, report.view.alive, silent=silent)
    return LiveStatus(report, stored, frozenset(silent), _group_lags(session))


def _group_lags(session: Session) -> list[Row] | None:
    from tidelog.cli.connection import Cluster
    from tidelog.cli.group.admin import find_groups, list_groups, standings
    from tidelog.cli.group.lag import By, lag_rows

    cluster = Cluster(session)
    try:
        infos = find_groups(cluster, [group.name for group in list_groups(cluster)])
        return [
            row for group in standings(cluster, list(infos.values())) for row in lag_rows(group, By.GROUP)
        ]
    except CliError:  # they may be denied, or their coordinators away: the rest is worth showing
        return None


def quorum_if_any(direct: DirectCluster) -> Quorum | None:
    """Returns None while the quorum has no leader; brokers still answer from their own metadata."""
    try:
        found = look_at_quorum(direct.for_seconds(QUORUM_PATIENCE_S))
    except CliError as error:
        if error.code in (Exit.UNREACHABLE, Exit.DENIED):
            raise
        return None
    return found if found.leader is not None else None


def _now_ms() -> int:
    return int(time.time() * 1000)


for command in (
    can_stop,
    features,
    upgrade,
    rebalance,
    drain,
    unregister,
    elect_leaders_command,
    add_voter,
    remove_voter,
):
    cluster.add_command(command)
