"""What must hold between a coordinator and the partitions of its transactions."""

from collections.abc import Iterator

from tidelog.metadata.topics.names import TRANSACTION_STATE
from tidelog.replication.partition import Partition
from tidelog.testing.sim.cluster.view import Place, View, name_of, newest, place_of
from tidelog.transactions.states import State
from tidelog.transactions.transaction import EPOCH_BUMPS, Transaction


class MarkersInOrder:
    """After a marker of a coordinator a leader writes none of an earlier one."""

    def __init__(self) -> None:
        self._epochs: dict[tuple[str, Place, int, int], int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            for partition in view.partitions:
                if not partition.is_leader:
                    continue
                for producer_id, producer in partition.log.producers:
                    key = view.life, place_of(partition), partition.leader_epoch, producer_id
                    before, now = self._epochs.get(key, -1), producer.coordinator_epoch
                    self._epochs[key] = now
                    if now < before:
                        yield (
                            f"{name_of(partition)} on {view.life} has a marker for producer {producer_id} of "
                            f"coordinator epoch {now}, and had one of {before}"
                        )


class OpenUntilDecided:
    """What was written in a transaction stays open as long as its coordinator has not decided (KIP-890).

    Before that, a producer has the same epoch in all its transactions, and nothing tells them apart.
    """

    def check(self, seen: list[View]) -> Iterator[str]:
        leaders = {place_of(one): one for one in _led(seen)}
        for transaction in _transactions(seen):
            is_second = transaction.version >= EPOCH_BUMPS and not transaction.is_kept
            if transaction.state is not State.ONGOING or not is_second:
                continue
            for place in transaction.partitions:
                partition = leaders.get((place.topic, place.partition))
                if partition is None:
                    continue
                producer = partition.log.producers.get(transaction.writer.producer_id)
                is_written = producer is not None and producer.epoch == transaction.writer.epoch
                if producer is not None and is_written and producer.batches and producer.txn_first < 0:
                    yield (
                        f"{name_of(partition)} has ended the transaction of {transaction.id} (producer "
                        f"{transaction.writer.producer_id}, epoch {transaction.writer.epoch}), and its "
                        f"coordinator has not"
                    )


class NothingHangs:
    """No partition has a transaction open that its coordinator takes for ended: nothing would ever end it."""

    def check(self, seen: list[View]) -> Iterator[str]:
        idle = {one.writer.producer_id: one for one in _transactions(seen) if one.is_idle}
        for partition in _led(seen):
            for producer_id, producer in partition.log.producers:
                if producer.txn_first >= 0 and producer_id in idle:
                    transaction = idle[producer_id]
                    yield (
                        f"{name_of(partition)} has a transaction of producer {producer_id} (epoch "
                        f"{producer.epoch}) open since {producer.txn_first}, and for its coordinator "
                        f"{transaction.id} is {transaction.state.text}"
                    )


def _led(seen: list[View]) -> Iterator[Partition]:
    """By those that lead as far as any broker knows."""
    best = newest(seen)
    for view in seen:
        for partition in view.partitions:
            image = best.image.partition(partition.topic, partition.index) if best is not None else None
            if partition.is_leader and image is not None and image.leader_epoch == partition.leader_epoch:
                yield partition


def _transactions(seen: list[View]) -> Iterator[Transaction]:
    """As those coordinators know them that are coordinators as far as any broker knows."""
    coordinators = {id(one) for one in _led(seen) if one.topic == TRANSACTION_STATE}
    for view in seen:
        for served in view.node.services.transactions:
            if id(served.partition) in coordinators:
                yield from served.shard.transactions.values()
