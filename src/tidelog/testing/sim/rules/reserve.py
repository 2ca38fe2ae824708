"""What must hold on a disk with little free space: clients' records leave the reserve alone."""

from collections.abc import Iterator

from tidelog.base.ids import Offset, Uuid
from tidelog.metadata.topics.names import SCHEMAS
from tidelog.replication.partition import Partition
from tidelog.testing.sim.cluster.view import View, name_of
from tidelog.wire.batch import CONTROL, iter_batches

READ_BYTES = 1 << 16


class ReserveIsKept:
    """A leader on a log dir that refuses records appends nothing to clients' topics but markers."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, Uuid, int, int], Offset] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        ends: dict[tuple[str, Uuid, int, int], Offset] = {}
        for view in seen:
            for partition in view.partitions:
                if not partition.is_leader or not partition.log.health.reserve.is_refusing:
                    continue
                if partition.topic == SCHEMAS:  # the registry's own records, which clients cannot write here
                    continue
                key = view.life, partition.topic_id, partition.index, partition.leader_epoch
                end = ends[key] = partition.log.end
                before = self._ends.get(key, end)
                if before < end and _has_records(partition, before):
                    yield (
                        f"{name_of(partition)} on {view.life} took records from {before} to {end}, while "
                        "its log dir refuses them"
                    )
        self._ends = ends


def _has_records(partition: Partition, start: Offset) -> bool:
    found = partition.log.read(start, READ_BYTES, end=partition.log.end)
    if found is None:
        return False
    return any(not header.attributes & CONTROL for _, header in iter_batches(memoryview(found.slice.read())))
