"""What the checks look at, read from a running cluster with the rights of the session's user."""

import os
from dataclasses import dataclass

from tidelog.base.config.error import ConfigError, Problem
from tidelog.base.config.file import read_settings_file
from tidelog.blocking.errors import Disconnected
from tidelog.cli.acl.calls import list_acls, list_roles_if_any
from tidelog.cli.cluster.view import Broker, look_at_brokers
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.security.checks.broker_facts import BrokerFacts
from tidelog.cli.security.credentials import ListedUser, list_users
from tidelog.metadata.image.security import Role
from tidelog.security.acls.acl import Acl


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    brokers: tuple[BrokerFacts, ...]
    acls: tuple[Acl, ...] = ()
    users: tuple[ListedUser, ...] = ()
    roles: tuple[Role, ...] = ()


def read_cluster(cluster: DirectCluster) -> ClusterFacts:
    brokers = read_brokers(cluster)
    has_acls = all(broker.setting("authorizer.class.name") for broker in brokers)
    return ClusterFacts(
        brokers,
        tuple(list_acls(cluster)) if has_acls else (),
        _users(cluster),
        tuple(list_roles_if_any(cluster)) if has_acls else (),
    )


def read_brokers(cluster: DirectCluster) -> tuple[BrokerFacts, ...]:
    view = look_at_brokers(cluster)
    return tuple(_broker(cluster, broker) for broker in sorted(view.alive, key=lambda found: found.id))


def _broker(cluster: DirectCluster, broker: Broker) -> BrokerFacts:
    from tidelog.wire.messages import describe_configs as wire

    request = wire.DescribeConfigsRequest(
        resources=[
            wire.DescribeConfigsResource(
                resource_type=Kind.BROKER, resource_name=str(broker.id), configuration_keys=None
            )
        ]
    )
    try:
        answer = cluster.ask_broker((broker.host, broker.port), request, at_least=1)
    except Disconnected as error:
        raise CliError(
            f"Broker {broker.id} at {broker.address} does not answer.",
            cause="it stopped, or this machine cannot reach the address that it advertises.",
            code=Exit.UNREACHABLE,
        ) from error
    [result] = answer.results
    if result.error_code:
        raise refusal(
            result.error_code,
            result.error_message,
            f"The settings of broker {broker.id} cannot be read",
            attempt="the same as a super user",
        )
    settings = {entry.name: entry.value for entry in result.configs if entry.value is not None}
    return BrokerFacts(f"broker {broker.id}", settings, broker.host)


def _users(cluster: DirectCluster) -> tuple[ListedUser, ...]:
    try:
        return tuple(list_users(cluster))
    except CliError as error:
        if error.code is Exit.REFUSED:  # a broker that does not know such users has none
            return ()
        raise


def read_file_facts(path: str) -> BrokerFacts:
    """A broker as its settings file describes it; CliError for a file that no broker would start with."""
    problems: list[Problem] = []
    given = read_settings_file(path, problems)
    if problems:
        raise CliError(str(ConfigError(problems)), code=Exit.USAGE)
    return BrokerFacts(
        os.path.relpath(path),
        {name: raw if isinstance(raw, str) else ",".join(raw) for name, raw, _ in given},
    )
