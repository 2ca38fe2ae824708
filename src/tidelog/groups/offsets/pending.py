"""Offsets that were committed within transactions: they count from the moment the transaction is committed.

Till then readers that want stable offsets are told to wait. Which of two offsets is newer is a matter of
where their records are in the log, not of when the transactions ended: so it is for compaction, too.
"""

from collections.abc import Iterator

from tidelog.base.ids import ProducerId
from tidelog.groups.record_formats.offset_commit import CommittedOffset, OffsetKey


class PendingOffsets:
    __slots__ = ("_by_producer", "_count", "_holders")

    def __init__(self) -> None:
        # With the place of the record among all. None: something newer counts already, but the transaction is
        # open all the same.
        self._by_producer: dict[ProducerId, dict[OffsetKey, tuple[int, CommittedOffset | None]]] = {}
        self._holders: dict[str, dict[OffsetKey, dict[ProducerId, None]]] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PendingOffsets) and self._by_producer == other._by_producer

    __hash__ = None  # type: ignore[assignment]

    def put(self, producer_id: ProducerId, key: OffsetKey, committed: CommittedOffset) -> None:
        self._count += 1
        self._by_producer.setdefault(producer_id, {})[key] = self._count, committed
        self._holders.setdefault(key.group_id, {}).setdefault(key, {})[producer_id] = None

    def supersede(self, key: OffsetKey) -> None:
        """A newer offset was committed outside of any transaction."""
        self._supersede(key, self._count + 1)

    def _supersede(self, key: OffsetKey, place: int) -> None:
        for producer_id in self._holders.get(key.group_id, {}).get(key, ()):
            pending = self._by_producer[producer_id]
            if pending[key][0] < place:
                pending[key] = pending[key][0], None

    def remove(self, key: OffsetKey) -> None:
        """The offset was deleted."""
        for producer_id in list(self._holders.get(key.group_id, {}).get(key, ())):
            self._drop(producer_id, key)

    def end(self, producer_id: ProducerId, commit: bool) -> dict[OffsetKey, CommittedOffset]:
        """The producer's transaction is over; answers what counts from now on."""
        counts: dict[OffsetKey, CommittedOffset] = {}
        for key, (place, committed) in list(self._by_producer.get(producer_id, {}).items()):
            self._drop(producer_id, key)
            if commit and committed is not None:
                counts[key] = committed
                self._supersede(key, place)
        return counts

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
