"""The last committed value of one key, from the batches of a log in order.

Reads everything, committed or not, and goes by the markers: a reader that stays below the last stable offset
would wait for transactions that have nothing to do with its key.
"""

from tidelog.base.ids import NO_PRODUCER
from tidelog.base.ports import Buffer
from tidelog.wire.batch import iter_batches
from tidelog.wire.record import ControlType, read_control, read_records


class CommittedValue:
    def __init__(self, key: bytes) -> None:
        self.value: bytes | None = None
        self.next_offset = 0
        """Behind the last batch that was read."""
        self._key = key
        self._offset = -1  # of `value`
        self._open: dict[int, tuple[int, bytes | None]] = {}  # the last record of each open transaction

    def read(self, records: Buffer) -> None:
        view = memoryview(records)
        for position, header in iter_batches(view):
            if header.base_offset < self.next_offset:
                continue  # the first batch of a fetch may begin before the offset that was asked for
            self.next_offset = header.next_offset
            batch = view[position : position + header.size]
            if header.is_control:
                control = read_control(batch)
                found = self._open.pop(header.producer_id, None)
                if control is not None and control.type == ControlType.COMMIT and found is not None:
                    self._take(*found)
                continue
            for record in read_records(batch):
                if record.key == self._key:
                    if header.is_transactional and header.producer_id != NO_PRODUCER:
                        self._open[header.producer_id] = (record.offset, record.value)
                    else:
                        self._take(record.offset, record.value)

    def has_open(self, producer_id: int, since: int) -> bool:
        """Whether the key has a record of an open transaction of this producer, at this offset or later."""
        offset, _ = self._open.get(producer_id, (-1, None))
        return offset >= since

    def finish(self, stable: int) -> bytes | None:
        """The value, once all is read. `stable`: all transactions below are over. What has no marker there
        was committed: compaction takes away aborted records before their markers."""
        for offset, value in self._open.values():
            if offset < stable:
                self._take(offset, value)
        return self.value

    def _take(self, offset: int, value: bytes | None) -> None:
        if offset > self._offset:
            self._offset, self.value = offset, value
