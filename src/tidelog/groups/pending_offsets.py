"""Offsets that were committed within transactions: they count from the moment the transaction is committed.

Till then readers that want stable offsets are told to wait. What is committed or deleted outside of the
transaction meanwhile is newer, so the pending offset no longer counts.
"""

from collections.abc import Iterator

from tidelog.base.ids import ProducerId
from tidelog.groups.record_formats.offset_commit import CommittedOffset, OffsetKey


class PendingOffsets:
    __slots__ = ("_by_producer", "_holders")

    def __init__(self) -> None:
        # None: something newer has been committed, but the transaction is open all the same.
        self._by_producer: dict[ProducerId, dict[OffsetKey, CommittedOffset | None]] = {}
        self._holders: dict[str, dict[OffsetKey, dict[ProducerId, None]]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PendingOffsets) and self._by_producer == other._by_producer

    __hash__ = None  # type: ignore[assignment]

    def put(self, producer_id: ProducerId, key: OffsetKey, committed: CommittedOffset) -> None:
        self._by_producer.setdefault(producer_id, {})[key] = committed
        self._holders.setdefault(key.group_id, {}).setdefault(key, {})[producer_id] = None

    def supersede(self, key: OffsetKey) -> None:
        """A newer offset was committed outside of any transaction."""
        for producer_id in self._holders.get(key.group_id, {}).get(key, ()):
            self._by_producer[producer_id][key] = None

    def remove(self, key: OffsetKey) -> None:
        """The offset was deleted."""
        for producer_id in list(self._holders.get(key.group_id, {}).get(key, ())):
            self._drop(producer_id, key)

    def end(self, producer_id: ProducerId) -> dict[OffsetKey, CommittedOffset]:
        """The producer's transaction is over; answers what counts now if it was committed."""
        pending = dict(self._by_producer.get(producer_id, {}))
        for key in pending:
            self._drop(producer_id, key)
        return {key: committed for key, committed in pending.items() if committed is not None}

    def holds(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction has an offset for it."""
        return OffsetKey(group_id, topic, partition) in self._holders.get(group_id, ())

    def of_group(self, group_id: str) -> list[OffsetKey]:
        return list(self._holders.get(group_id, ()))

    def of_topic(self, topic: str) -> list[OffsetKey]:
        return [key for keys in self._holders.values() for key in keys if key.topic == topic]

    def group_ids(self) -> Iterator[str]:
        return iter(self._holders)

    def _drop(self, producer_id: ProducerId, key: OffsetKey) -> None:
        keys = self._by_producer[producer_id]
        del keys[key]
        if not keys:
            del self._by_producer[producer_id]
        of_group = self._holders[key.group_id]
        del of_group[key][producer_id]
        if not of_group[key]:
            del of_group[key]
            if not of_group:
                del self._holders[key.group_id]
