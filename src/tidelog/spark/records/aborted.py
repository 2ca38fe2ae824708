"""Which transactional batches a reader of committed records must leave out.

The broker names, with what it answers, each aborted transaction as (producer id, first offset). From that
offset on the producer's transactional batches are dropped, up to its abort marker.
"""

from collections.abc import Iterable

from tidelog.base.ids import Offset, ProducerId
from tidelog.base.ports import Buffer
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import ControlType, read_control


class AbortedFilter:
    """Keeps its place from batch to batch: feed it all that are transactional or markers, in order."""

    __slots__ = ("_aborting", "_to_come")

    def __init__(self, aborted: Iterable[tuple[ProducerId, Offset]] = ()) -> None:
        self._to_come = sorted(aborted, key=lambda each: each[1], reverse=True)
        self._aborting: set[ProducerId] = set()

    def drops(self, batch: Buffer, header: BatchHeader) -> bool:
        """Whether it has nothing for an application: it is a marker, or of an aborted transaction."""
        while self._to_come and self._to_come[-1][1] <= header.last_offset:
            self._aborting.add(self._to_come.pop()[0])
        if header.is_control:
            if header.producer_id in self._aborting:
                control = read_control(batch)
                if control is not None and control.type == ControlType.ABORT:
                    self._aborting.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._aborting
