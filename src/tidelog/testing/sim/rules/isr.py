"""What must hold for the members of an in-sync set: each may be the next leader."""

from collections.abc import Iterator

from tidelog.base.ids import Uuid
from tidelog.testing.history import Completion
from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.cluster.view import Place, View, name_of, newest


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
            topic_image = best.image.topic(topic)
            image = topic_image.partition(index) if topic_image is not None else None
            if image is None:
                continue
            for view in seen:
                if view.machine.id not in (*image.isr, *image.elr):
                    continue
                partition = view.partition(topic_image.id, index)  # type: ignore[union-attr]
                if partition is None or partition.leader_epoch != image.leader_epoch:
                    continue  # it has not heard the news yet
                if partition.log.lost is not None and image.leader != view.machine.id:
                    continue  # it knows that it misses something, and is not elected before it has it
                log = partition.log
                has = partition.sync.durable_end(log)
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
                if operation.outcome is Completion.OK:
                    for sent in operation.sent:
                        topic, _, index = sent.partition.rpartition("-")
                        if sent.offset is not None:
                            place = topic, int(index)
                            self._ends[place] = max(self._ends.get(place, 0), sent.offset + 1)


class CommittedOnIsr:
    """What a leader takes for committed is on every member of the ISR, of the brokers' own topics too."""

    def __init__(self) -> None:
        self._committed: dict[tuple[Uuid, int], int] = {}
        self._known = 0  # the newest metadata that any broker ever had

    def check(self, seen: list[View]) -> Iterator[str]:
        best = newest(seen)
        for view in seen:
            for partition in view.partitions:
                key = partition.topic_id, partition.index
                if partition.is_leader and partition.high_watermark > self._committed.get(key, 0):
                    self._committed[key] = partition.high_watermark
        if best is None or best.version < self._known:
            return  # those who know who is in sync are dead, and the rest believes in an older set
        self._known = best.version
        for view in seen:
            for partition in view.partitions:
                image = best.image.partition(partition.topic, partition.index)
                if image is None or image.leader_epoch != partition.leader_epoch:
                    continue  # it has not heard the news yet
                if partition.log.lost is not None and image.leader != view.machine.id:
                    continue  # as above
                log, end = partition.log, self._committed.get((partition.topic_id, partition.index), 0)
                has = partition.sync.durable_end(log)
                if view.machine.id in image.isr and log.offline is None and has < end:
                    yield (
                        f"{name_of(partition)} is committed up to {end}, but {view.life} of its ISR "
                        f"{image.isr} has {has}"
                    )
