"""Asks a running cluster for all that the checks look at; what is refused is skipped with a remark."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.commands import look_at_health
from tidelog.cli.cluster.features import look_at_features
from tidelog.cli.cluster.log_dir_sizes import look_at_log_dirs
from tidelog.cli.cluster.view import Broker
from tidelog.cli.connection import Cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, read_settings
from tidelog.cli.doctor.checks.facts import BrokerState, Damaged, DoctorFacts
from tidelog.cli.doctor.checks.groups import REBALANCING
from tidelog.cli.doctor.checks.registry import CLEANUP, REGISTRY_PORT
from tidelog.cli.doctor.checks.settings import BROKER_SETTINGS, TOPIC_SETTINGS
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group import share
from tidelog.cli.group.admin import find_groups, list_groups, standings
from tidelog.cli.group.lag import GroupStanding
from tidelog.cli.queue.looking import list_queues
from tidelog.cli.session import Session
from tidelog.cli.transactions.hanging import GRACE_MS, look_for_suspects

SHARE_VERSION = "share.version"

Value = TypeVar("Value")


def look_at_everything(session: Session, observe_s: float) -> DoctorFacts:
    direct = DirectCluster(session)
    report = look_at_health(direct)
    view = report.view
    skipped: list[str] = []

    def unless_refused(what: str, look: Callable[[], Value], otherwise: Value) -> Value:
        try:
            return look()
        except CliError as error:
            if error.code is Exit.UNREACHABLE and not view.alive:
                raise
            skipped.append(f"{what}: {error.message}")
            return otherwise

    none: tuple[Sequence[GroupStanding], Sequence[str]] = ((), ())
    groups, stuck = unless_refused(
        "Groups were not checked", lambda: _groups(Cluster(session), observe_s), none
    )
    topics = dict.fromkeys(place.topic for place in view.partitions)
    features = look_at_features(direct)
    return DoctorFacts(
        report=report,
        features=features,
        states=unless_refused(
            "The brokers' own state was not checked", lambda: _states(direct, view.alive), {}
        ),
        stored=look_at_log_dirs(direct, view.alive),
        topic_settings=read_settings(direct, Kind.TOPIC, topics, (*TOPIC_SETTINGS, CLEANUP)),
        broker_settings=_broker_settings(direct, view.alive),
        groups=groups,
        rebalancing=stuck,
        queues=unless_refused("Queues were not checked", lambda: list_queues(direct), [])
        if features.levels.get(SHARE_VERSION, 0)
        else [],
        hanging=unless_refused(
            "Transactions were not checked", lambda: look_for_suspects(direct, (), GRACE_MS), []
        ),
        skipped=skipped,
    )


def _states(direct: DirectCluster, brokers: Sequence[Broker]) -> dict[int, BrokerState]:
    found = {}
    for broker in brokers:
        state = _state(direct, broker)
        if state is not None:
            found[broker.id] = state
    return found


def _state(direct: DirectCluster, broker: Broker) -> BrokerState | None:
    from tidelog.wire.messages.describe_broker_state import DescribeBrokerStateRequest

    request, address = DescribeBrokerStateRequest(), (broker.host, broker.port)
    try:
        direct.ask_broker(address, request)  # the first one also connects, which would blur the clocks
        before, began = time.time(), time.monotonic()
        answer = direct.ask_broker(address, request)
        took = time.monotonic() - began
    except Disconnected:
        return None
    if answer.error_code:
        raise CliError(f"broker {broker.id} refused it; you may not DESCRIBE the cluster", code=Exit.DENIED)
    return BrokerState(
        broker.id,
        answer.software_version,
        clock_ahead_ms=answer.now_ms - 1000 * (before + took / 2),
        clock_doubt_ms=1000 * took / 2,
        ready=answer.ready,
        reasons=answer.reasons,
        notes=answer.notes,
        open_files=answer.open_files,
        open_files_max=answer.open_files_max,
        recovered_logs=answer.recovered_logs,
        damaged=[Damaged(one.topic, one.partition, one.reason) for one in answer.damaged],
        damaged_total=answer.damaged_total,
    )


def _broker_settings(direct: DirectCluster, brokers: Sequence[Broker]) -> dict[int, dict[str, str]]:
    found = {}
    for broker in brokers:
        try:
            settings = read_settings(
                direct,
                Kind.BROKER,
                [str(broker.id)],
                (*BROKER_SETTINGS, REGISTRY_PORT),
                address=(broker.host, broker.port),
            )
        except Disconnected:
            continue
        found[broker.id] = settings.get(str(broker.id), {})
    return found


def _groups(cluster: Cluster, observe_s: float) -> tuple[Sequence[GroupStanding], Sequence[str]]:
    listed = list_groups(cluster)
    rebalancing = [group.name for group in listed if group.state in REBALANCING]
    # A share group commits no offsets, so it has no lag of this kind.
    lagging = [group.name for group in listed if group.type != share.TYPE]
    infos = list(find_groups(cluster, lagging).values()) if lagging else []
    found = standings(cluster, infos) if infos else []
    if rebalancing:
        time.sleep(observe_s)
        later = {group.name: group.state for group in list_groups(cluster)}
        rebalancing = [name for name in rebalancing if later.get(name) in REBALANCING]
    return found, rebalancing
