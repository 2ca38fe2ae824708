"""What must hold inside the cluster at every moment, looked at many times a second of virtual time."""

import zlib
from collections.abc import Iterator

from tidelog.replication.partition import Durability, Partition
from tidelog.testing.history import Outcome
from tidelog.testing.sim.cluster import SimCluster
from tidelog.testing.sim.view import View, newest, views
from tidelog.wire.batch import iter_batches

READ_BYTES = 64 * 1024
BROKEN_MAX = 20
"""More of them tell nothing new."""

Place = tuple[str, int]


class Invariants:
    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self.broken: dict[str, float] = {}
        """What was broken, and when it was first seen."""
        self._rules = (
            PartitionLeaders(),
            RaftLeaders(),
            CommittedEntries(),
            Offsets(),
            EqualReplicas(),
            AckedOnIsr(cluster),
        )

    def check(self) -> None:
        seen = views(self._cluster)
        for rule in self._rules:
            for told in rule.check(seen):
                if told not in self.broken and len(self.broken) < BROKEN_MAX:
                    self.broken[told] = self._cluster.loop.now
                    self._cluster.note(f"BROKEN: {told}")


class PartitionLeaders:
    """One leader for each partition and epoch."""

    def __init__(self) -> None:
        self._leaders: dict[tuple[Place, int], int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            for partition in view.partitions:
                if partition.is_leader:
                    key = _place(partition), partition.leader_epoch
                    leader = self._leaders.setdefault(key, view.machine.id)
                    if leader != view.machine.id:
                        yield f"{_name(partition)}: {leader} and {view.machine.id} lead in epoch {key[1]}"


class RaftLeaders:
    """One Raft leader for each term."""

    def __init__(self) -> None:
        self._leaders: dict[int, int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            raft = view.raft
            if raft.is_leader:
                leader = self._leaders.setdefault(raft.term, view.machine.id)
                if leader != view.machine.id:
                    yield f"{leader} and {view.machine.id} lead the quorum in term {raft.term}"


class CommittedEntries:
    """An entry of the metadata log that was committed somewhere is the same everywhere and for ever."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[int, int]] = {}
        self._checked: dict[str, int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            raft, log = view.raft, view.raft_log
            first = max(self._checked.get(view.life, 0), log.base_index) + 1
            for index in range(first, raft.commit_index + 1):
                entry = log.entry(index)
                mark = entry.term, zlib.crc32(entry.data)
                known = self._entries.setdefault(index, mark)
                if known != mark:
                    yield f"entry {index} of the metadata was committed as {known}; {view.life} has {mark}"
            self._checked[view.life] = max(first - 1, raft.commit_index)


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
                    yield f"{_name(partition)} on {view.life}: start, stable, watermark, end are {bounds}"
                if partition.is_leader:
                    key = view.life, _place(partition), partition.leader_epoch
                    before = self._watermarks.get(key, 0)
                    if partition.high_watermark < before:
                        yield (
                            f"the high watermark of {_name(partition)} on {view.life} went from {before} to "
                            f"{partition.high_watermark} in epoch {partition.leader_epoch}"
                        )
                    self._watermarks[key] = partition.high_watermark


class EqualReplicas:
    """Below their high watermarks replicas hold the same bytes."""

    def __init__(self) -> None:
        self._batches: dict[Place, dict[int, tuple[int, int]]] = {}
        self._ends: dict[Place, int] = {}
        self._checked: dict[tuple[str, Place], int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            for partition in view.partitions:
                can_be_read = partition.log.offline is None and not view.machine.disk_is_bad
                can_be_read = can_be_read and partition.log.lost is None  # else it waits for its repair
                if can_be_read and not partition.topic.startswith("__"):
                    yield from self._compare(view, partition)

    def _compare(self, view: View, partition: Partition) -> Iterator[str]:
        place = _place(partition)
        key = view.life, place
        known = self._batches.setdefault(place, {})
        position = max(self._checked.get(key, 0), partition.log.start)
        watermark = partition.high_watermark
        while position < watermark:
            found = partition.log.read(position, READ_BYTES, end=watermark)
            if found is None:
                break
            data = memoryview(found.slice.read())
            before = position
            for at, header in iter_batches(data):
                mark = zlib.crc32(data[at : at + header.size]), header.next_offset
                if header.base_offset >= self._ends.get(place, 0):
                    known[header.base_offset] = mark
                    self._ends[place] = header.next_offset
                elif known.get(header.base_offset) != mark:
                    yield (
                        f"{_name(partition)} on {view.life} differs from the other replicas at "
                        f"{header.base_offset}, below its high watermark {watermark}"
                    )
                position = header.next_offset
            if position == before:
                break
        self._checked[key] = position


class AckedOnIsr:
    """What was acknowledged with acks=all is on every member of ISR and ELR, and synced where promised."""

    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self._open = 0
        self._ends: dict[Place, int] = {}
        self._waiting: dict[int, None] = {}
        self._known = 0  # the newest metadata that any broker ever had

    def check(self, seen: list[View]) -> Iterator[str]:
        self._take_in()
        best = newest(seen)
        if best is None or best.version < self._known:
            return  # those who know who is in sync are dead, and the rest believes in an older set
        self._known = best.version
        for (topic, index), end in self._ends.items():
            known = best.image.topic(topic)
            image = known.partition(index) if known is not None else None
            if image is None:
                continue
            for view in seen:
                if view.machine.id not in (*image.isr, *image.elr):
                    continue
                partition = view.partition(known.id, index)  # type: ignore[union-attr]
                if partition is None or partition.leader_epoch != image.leader_epoch:
                    continue  # it has not heard the news yet
                if partition.log.lost is not None and image.leader != view.machine.id:
                    continue  # it knows that it misses something, and is not elected before it has it
                log = partition.log
                has = log.recovery_point if partition.durability is Durability.FSYNC else log.end
                if log.offline is None and has < end:
                    yield (
                        f"{topic}-{index} was acknowledged up to {end}, but {view.life} of its ISR "
                        f"{image.isr} and ELR {image.elr} has {has}"
                    )

    def _take_in(self) -> None:
        """Operations that ended since the last time."""
        operations = self._cluster.history.operations
        for number in range(self._open, len(operations)):
            self._waiting[number] = None
        self._open = len(operations)
        for number in tuple(self._waiting):
            operation = operations[number]
            if operation.kind != "send" or operation.acks != -1:
                del self._waiting[number]
            elif operation.ended:
                del self._waiting[number]
                if operation.outcome is Outcome.OK:
                    for sent in operation.sent:
                        topic, _, index = sent.partition.rpartition("-")
                        if sent.offset is not None:
                            place = topic, int(index)
                            self._ends[place] = max(self._ends.get(place, 0), sent.offset + 1)


def _place(partition: Partition) -> Place:
    return partition.topic, partition.index


def _name(partition: Partition) -> str:
    return f"{partition.topic}-{partition.index}"
