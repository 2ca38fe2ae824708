"""What a configuration can belong to, as the protocol numbers it."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId

TOPIC = 2
BROKER = 4
GROUP = 32


def broker_named(node_id: NodeId, name: str) -> bool:
    """True for this broker, False for the cluster's default (an empty name); anything else is refused."""
    if not name:
        return False
    if name != str(node_id):
        known = name.lstrip("-").isdigit()
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
            if known
            else f"Broker id must be an integer, but it is: {name}",
        )
    return True
