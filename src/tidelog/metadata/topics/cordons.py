"""Cordoned brokers (KIP-1066): they keep the replicas that they have, and get no further ones.

A broker is cordoned by its own dynamic setting, so the image knows of it before the broker does, and a topic
that is created right after the cordon is not placed on the broker any more.
"""

from tidelog.base.cordons import ALL_LOG_DIRS, CORDONED_LOG_DIRS
from tidelog.base.ids import NodeId
from tidelog.metadata.image.entities import BrokerImage, ConfigResource
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import ConfigChanged, ResourceKind


def is_cordoned(image: ClusterImage, broker_id: NodeId) -> bool:
    return image.configs(_resource(broker_id)).get(CORDONED_LOG_DIRS) == ALL_LOG_DIRS


def open_brokers(image: ClusterImage) -> list[BrokerImage]:
    """The brokers that may get new replicas, those that are fenced now among them."""
    return [broker for broker in image.brokers.values() if not is_cordoned(image, broker.id)]


def is_drained(image: ClusterImage, broker_id: NodeId) -> bool:
    """Whether a broker holds no replica, and is not to get any."""
    return is_cordoned(image, broker_id) and not any(
        broker_id in partition.replicas for _, partition in image.partitions()
    )


def without_cordon(image: ClusterImage, broker_id: NodeId) -> list[ConfigChanged]:
    """A broker that returns under an id that was drained begins anew."""
    if not is_cordoned(image, broker_id):
        return []
    return [ConfigChanged(*_resource(broker_id), CORDONED_LOG_DIRS, None)]


def _resource(broker_id: NodeId) -> ConfigResource:
    return ConfigResource(ResourceKind.BROKER, str(broker_id))
