"""The types of resources that have a configuration, as the protocol numbers them."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId

TOPIC = 2
BROKER = 4
BROKER_LOGGER = 8
CLIENT_METRICS = 16
GROUP = 32


def broker_named(node_id: NodeId, name: str) -> bool:
    """Returns True for this broker, False for the cluster's default (an empty name); refuses other names."""
    if not name:
        return False
    if name != str(node_id):
        is_integer = name.lstrip("-").isdigit()
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
            if is_integer
            else f"Broker id must be an integer, but it is: {name}",
        )
    return True
