"""The markers that the partitions of a decided transaction must get."""

from typing import NamedTuple

from tidelog.base.ids import Epoch, ProducerId
from tidelog.transactions.transaction import Identity, TopicPartition, Transaction


class Marker(NamedTuple):
    transactional_id: str
    writer: Identity
    commit: bool
    coordinator_epoch: Epoch
    version: int
    """The transaction version: from 2 on a partition wants the marker's epoch to be a new one."""

    @property
    def producer_id(self) -> ProducerId:
        return self.writer.producer_id


class MarkersToWrite(NamedTuple):
    marker: Marker
    partitions: tuple[TopicPartition, ...]


def markers_of(transaction: Transaction, coordinator_epoch: Epoch) -> MarkersToWrite:
    marker = Marker(
        transaction.id, transaction.writer, transaction.commits, coordinator_epoch, transaction.version
    )
    return MarkersToWrite(marker, transaction.partitions)
