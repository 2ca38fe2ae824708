"""Answers to a client at the wrong broker: who leads the partition, and where that broker is (KIP-951)."""

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Epoch, NodeId
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.shares.sessions import SharePartitionKey

MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


class NamedLeaders:
    """The leaders that one response names."""

    __slots__ = ("_metadata", "_named")

    def __init__(self, metadata: MetadataService) -> None:
        self._metadata = metadata
        self._named: dict[NodeId, None] = {}

    def of(self, key: SharePartitionKey, code: ErrorCode) -> tuple[NodeId, Epoch] | None:
        """The leader and its epoch, for errors that it helps with."""
        if code not in MOVED:
            return None
        topic = self._metadata.image.topic_by_id(key[0])
        partition = None if topic is None else topic.partition(key[1])
        if partition is None or partition.leader < 0:
            return None
        self._named[partition.leader] = None
        return partition.leader, partition.leader_epoch

    def endpoints(self, listener: str) -> list[tuple[NodeId, str, int, str | None]]:
        """Id, host, port and rack of each."""
        if not self._named:
            return []
        return [
            (broker.id, where.host, where.port, broker.rack)
            for broker, where in self._metadata.reachable_brokers(listener)
            if broker.id in self._named
        ]
