"""Brokers that take no new replicas: which they are, and the requests that begin and end this state."""

from collections.abc import Iterable

from tidelog.base.cordons import ALL_LOG_DIRS, CORDONED_LOG_DIRS
from tidelog.cli.cluster.log_dir_sizes import look_at_log_dirs
from tidelog.cli.cluster.view import Broker, ClusterView
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, change_settings


def open_brokers(direct: DirectCluster, view: ClusterView) -> list[Broker]:
    """The brokers that are alive and take new replicas."""
    stored = look_at_log_dirs(direct, view.alive, [])
    return [broker for broker in view.alive if broker.id not in stored or not stored[broker.id].cordoned]


def set_cordons(direct: DirectCluster, brokers: Iterable[Broker], *, cordoned: bool) -> None:
    for broker in brokers:
        change_settings(
            direct,
            Kind.BROKER,
            {str(broker.id): {CORDONED_LOG_DIRS: ALL_LOG_DIRS if cordoned else None}},
            address=None if broker.fenced else (broker.host, broker.port),
        )
