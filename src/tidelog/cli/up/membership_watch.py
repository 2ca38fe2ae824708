"""While a broker waits to be let into its cluster: look whether the cluster has a reason to keep it out.

A second broker with the same id is never let in, and by itself would only see that no broker answers it.
"""

import asyncio
from contextlib import closing, suppress

from tidelog.base.config.config import BrokerConfig
from tidelog.base.voters import parse_voters
from tidelog.cli.cluster.view import Broker, ClusterView, look_at_brokers
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.cli.up.broker_login import properties_for_brokers

FIRST_LOOK_S, LOOK_EVERY_S, LOOK_TIMEOUT_S = 3.0, 3.0, 1.0


async def until_refused(config: BrokerConfig) -> CliError:
    """Comes back only with a reason; the caller ends it once the broker is in."""
    voters = parse_voters(config.list("controller.quorum.voters"))
    servers = ",".join(voter.address for voter in voters if voter.id != config.int("node.id"))
    properties = properties_for_brokers(config)
    await asyncio.sleep(FIRST_LOOK_S)
    while True:
        view = await asyncio.to_thread(_look, servers, properties) if servers else None
        if view is not None and (reason := conflict(config, view)) is not None:
            return reason
        await asyncio.sleep(LOOK_EVERY_S)


def conflict(config: BrokerConfig, view: ClusterView) -> CliError | None:
    node = config.int("node.id")
    other = view.brokers.get(node)
    if other is not None and not other.fenced and not _is_here(config, other):
        return CliError(
            f"Broker {node} is alive already, at {other.address}.",
            cause="two brokers have the same node.id; or this broker has moved, and its old session has not "
            "expired yet.",
            attempt=f"another node.id; or stop the broker at {other.address}, and start this one again "
            "after broker.session.timeout.ms",
            code=Exit.REFUSED,
        )
    return None


def _is_here(config: BrokerConfig, other: Broker) -> bool:
    return any(
        (listener.host, listener.port) == (other.host, other.port)
        for listener in config.advertised_listeners()
    )


def _look(servers: str, properties: dict[str, str]) -> ClusterView | None:
    session = Session(servers=servers, timeout_s=LOOK_TIMEOUT_S, properties=properties)
    with closing(session), suppress(CliError):
        return look_at_brokers(DirectCluster(session))
    return None  # not up yet either
