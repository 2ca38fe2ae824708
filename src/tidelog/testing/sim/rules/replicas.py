"""What must hold for a leader and its followers, and between them."""

import zlib
from collections.abc import Iterator

from tidelog.replication.partition import Partition
from tidelog.testing.sim.cluster.view import Place, View, name_of, place_of
from tidelog.wire.batch import iter_batches

READ_BYTES = 64 * 1024


class PartitionLeaders:
    """One leader for each partition and epoch."""

    def __init__(self) -> None:
        self._leaders: dict[tuple[Place, int], int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            for partition in view.partitions:
                if partition.is_leader:
                    key = place_of(partition), partition.leader_epoch
                    leader = self._leaders.setdefault(key, view.machine.id)
                    if leader != view.machine.id:
                        yield f"{name_of(partition)}: {leader} and {view.machine.id} lead in epoch {key[1]}"


class ReplicasApart:
    """No two replicas of a partition are on one computer, but for one that leaves it."""

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            if not view.is_controller or not any(broker.machine for broker in view.image.brokers.values()):
                continue
            machines = {id: broker.machine_key for id, broker in view.image.brokers.items()}
            for topic, partition in view.image.partitions():
                staying = [machines.get(id, id) for id in partition.replicas if id not in partition.removing]
                if len(set(staying)) < len(staying):
                    yield f"{topic.name}-{partition.index} is twice on one computer: {partition.replicas}"


class Offsets:
    """start <= stable <= high watermark <= end; and a leader's watermark never goes back."""

    def __init__(self) -> None:
        self._watermarks: dict[tuple[str, Place, int], int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            for partition in view.partitions:
                log = partition.log
                if log.offline is not None:
                    continue
                bounds = (log.start, partition.last_stable_offset, partition.high_watermark, log.end)
                if list(bounds) != sorted(bounds):
                    yield f"{name_of(partition)} on {view.life}: start, stable, watermark, end are {bounds}"
                if partition.is_leader:
                    key = view.life, place_of(partition), partition.leader_epoch
                    before = self._watermarks.get(key, 0)
                    if partition.high_watermark < before:
                        yield (
                            f"the high watermark of {name_of(partition)} on {view.life} went from {before} "
                            f"to {partition.high_watermark} in epoch {partition.leader_epoch}"
                        )
                    self._watermarks[key] = partition.high_watermark


class EqualReplicas:
    """Below their high watermarks replicas hold the same bytes."""

    def __init__(self) -> None:
        self._batches: dict[Place, dict[int, tuple[int, int]]] = {}
        self._ends: dict[Place, int] = {}
        self._begins: dict[Place, int] = {}
        """Where the first replica that was looked at started: others may have records that it has deleted."""
        self._checked: dict[tuple[str, Place], int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            for partition in view.partitions:
                can_be_read = partition.log.offline is None and not view.machine.disk_is_bad
                can_be_read = can_be_read and partition.log.lost is None  # else it waits for its repair
                if can_be_read and not partition.topic.startswith("__"):
                    yield from self._compare(view, partition)

    def _compare(self, view: View, partition: Partition) -> Iterator[str]:
        place = place_of(partition)
        key = view.life, place
        batches = self._batches.setdefault(place, {})
        position = max(self._checked.get(key, 0), partition.log.start)
        watermark = partition.high_watermark
        while position < watermark:
            read = partition.log.read(position, READ_BYTES, end=watermark)
            if read is None:
                break
            data = memoryview(read.slice.read())
            before = position
            for at, header in iter_batches(data):
                mark = zlib.crc32(data[at : at + header.size]), header.next_offset
                if header.base_offset < self._begins.setdefault(place, header.base_offset):
                    batches.setdefault(header.base_offset, mark)
                if header.base_offset >= self._ends.get(place, 0):
                    batches[header.base_offset] = mark
                    self._ends[place] = header.next_offset
                elif batches.get(header.base_offset) != mark:
                    yield (
                        f"{name_of(partition)} on {view.life} differs from the other replicas at "
                        f"{header.base_offset}, below its high watermark {watermark}"
                    )
                position = header.next_offset
            if position == before:
                break
        self._checked[key] = position


class FollowersHighWatermark:
    """A follower knows of no higher watermark than its leader has, save what an earlier leader sent."""

    def check(self, seen: list[View]) -> Iterator[str]:
        leaders = {
            (partition.topic_id, partition.index, partition.leader_epoch): partition.high_watermark
            for view in seen
            for partition in view.partitions
            if partition.is_leader
        }
        for view in seen:
            for partition in view.partitions:
                leaders_mark = leaders.get((partition.topic_id, partition.index, partition.leader_epoch))
                mark = view.leader_mark(partition)
                if (
                    partition.is_leader
                    or leaders_mark is None
                    or mark <= max(leaders_mark, partition.high_watermark)
                ):
                    continue
                yield (
                    f"{name_of(partition)} on {view.life}: its leader of epoch {partition.leader_epoch} has "
                    f"committed up to {leaders_mark}, and it takes everything up to {mark} for committed"
                )
