"""Decides how a cluster begins and how a broker process makes itself known to it."""

from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID, Epoch, NodeId, Uuid, uuid_text
from tidelog.metadata.decision import Decision
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.records import BrokerRegistered, ClusterCreated, Endpoint


def decide_create_cluster(image: ClusterImage, *, cluster_id: str) -> Decision[str]:
    """The result is the cluster's id: the given one, or the one that it has had since it began."""
    if image.cluster_id:
        return Decision([], [image.cluster_id])
    return Decision([ClusterCreated(cluster_id)], [cluster_id])


def decide_register_broker(
    image: ClusterImage,
    *,
    broker_id: NodeId,
    epoch: Epoch,
    incarnation: Uuid,
    endpoints: Sequence[Endpoint],
    rack: str | None = None,
    directories: Sequence[Uuid] = (),
) -> Decision[Epoch]:
    """`epoch` is the end of the metadata log: it grows, so a later registration always has a larger one."""
    known = image.brokers.get(broker_id)
    if known is not None and known.incarnation == incarnation != ZERO_UUID:
        return Decision([], [known.epoch])  # the same process asks again: its first answer was lost
    names = [endpoint.listener for endpoint in endpoints]
    if len(set(names)) < len(names):
        raise KafkaError(
            ErrorCode.INVALID_REGISTRATION, "Two endpoints of the broker have the same listener name."
        )
    record = BrokerRegistered(
        broker_id,
        epoch,
        uuid_text(incarnation),
        tuple(endpoints),
        rack,
        tuple(map(uuid_text, directories)),
    )
    return Decision([record], [epoch])
