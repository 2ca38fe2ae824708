"""How the transactions of a stretch of a log ended: records of aborted ones must not displace older values.

A batch belongs to the transaction that the next marker of its producer ends, so the markers tell it all. They
are looked for when the first transactional batch is met: most logs have none.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from typing import TypeAlias

from tidelog.base.ids import ProducerId
from tidelog.base.ports import Disk
from tidelog.storage.segment.batch_walk import walk
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import ControlType, read_control

Markers: TypeAlias = "dict[ProducerId, tuple[array[int], list[bool]]]"
"""For each producer the offsets of its markers, and which of them are commits."""


class TransactionOutcomes:
    __slots__ = ("_disk", "_files", "_markers")

    def __init__(self, disk: Disk, files: Iterable[tuple[str, int]]) -> None:
        """`files`: path and size of the segments from the stretch in question to the end of the log."""
        self._disk = disk
        self._files = list(files)
        self._markers: Markers | None = None

    def is_committed(self, header: BatchHeader) -> bool:
        """Whether the transaction that the batch belongs to was committed; not so while it is open."""
        return self._ended(header) is True

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether the transaction that the batch belongs to was aborted; not so while it is open."""
        return self._ended(header) is False

    def _ended(self, header: BatchHeader) -> bool | None:
        if self._markers is None:
            self._markers = self._scan()
        offsets, commits = self._markers.get(header.producer_id, (array("q"), []))
        place = bisect_right(offsets, header.last_offset)
        return commits[place] if place < len(commits) else None

    def _scan(self) -> Markers:
        markers: Markers = {}
        for path, size in self._files:
            file = self._disk.open(path)
            for position, header in walk(file, 0, size):
                if not header.is_control:
                    continue
                control = read_control(file.read_at(position, header.size))
                if control is not None and control.is_marker:
                    offsets, commits = markers.setdefault(header.producer_id, (array("q"), []))
                    offsets.append(header.base_offset)
                    commits.append(control.type == ControlType.COMMIT)
        return markers
