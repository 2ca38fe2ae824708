"""How many brokers divide the limits of a machine among them."""

from collections.abc import Mapping

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.ids import NodeId
from tidelog.metadata.image.entities import BrokerImage


def started_cores(config: BrokerConfig) -> int:
    """As many as the supervisor has started; it gives each broker the number."""
    text = config.text("broker.cores")
    return int(text) if text.isdecimal() else 1


def cores_of_machine(config: BrokerConfig, brokers: Mapping[NodeId, BrokerImage], node_id: NodeId) -> int:
    """Cores that were drained and have left leave their share to the others; one that is down for a moment
    keeps it. Brokers that only name one machine, each started by itself, share nothing."""
    started = started_cores(config)
    if started == 1 or node_id not in brokers:
        return started
    own = brokers[node_id].machine_key
    return min(started, sum(broker.machine_key == own for broker in brokers.values()))


def fenced_cores(
    config: BrokerConfig, brokers: Mapping[NodeId, BrokerImage], node_id: NodeId
) -> tuple[NodeId, ...]:
    """The other cores of the machine that are away; brokers that only name one machine are not cores."""
    if started_cores(config) == 1 or node_id not in brokers:
        return ()
    own = brokers[node_id].machine_key
    away = (id for id, broker in brokers.items() if broker.fenced and broker.machine_key == own)
    return tuple(sorted(id for id in away if id != node_id))
