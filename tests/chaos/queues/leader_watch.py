"""Which process led which partition in which epoch, and when for certain: brokers are asked all the time.

Members of share groups do not learn their leader's epoch. A broker that says before a request and again after
its answer that it leads in an epoch led in that epoch meanwhile, since epochs only grow.
"""

import threading
import time
from collections.abc import Iterable
from typing import NamedTuple

from tests.chaos.process_cluster import Member
from tests.faults.raw_client import Closed, RawClient
from tidelog.testing.history import Partition
from tidelog.testing.share_history import UNKNOWN_EPOCH, Acknowledge, ShareEvent, Take
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

PAUSE_S = 0.02


class Reign(NamedTuple):
    """From `since` to `until` the process led these partitions, each in its epoch, all the time."""

    since: float
    until: float
    process: int
    epochs: dict[Partition, int]


class LeaderWatch:
    def __init__(self, members: Iterable[Member], topics: list[str]) -> None:
        self._watches = {member.address: _Watch(member, topics) for member in members}

    def start(self) -> None:
        for watch in self._watches.values():
            watch.start()

    def stop(self) -> None:
        for watch in self._watches.values():
            watch.is_stopping.set()
        for watch in self._watches.values():
            watch.join(30)

    def complete(self, event: ShareEvent) -> None:
        """Fills in the broker's process and the leader epochs."""
        if not isinstance(event, Take | Acknowledge):
            return
        watch = self._watches.get(event.broker)
        reign = None if watch is None else watch.reign(event.started, event.ended)
        if reign is not None:
            event.broker = f"{event.broker} of process {reign.process}"
        for one in event.records if isinstance(event, Take) else event.acks:
            one.epoch = UNKNOWN_EPOCH if reign is None else reign.epochs.get(one.partition, UNKNOWN_EPOCH)


class _Watch(threading.Thread):
    def __init__(self, member: Member, topics: list[str]) -> None:
        super().__init__(name=f"leaders seen by {member.node_id}", daemon=True)
        self.is_stopping = threading.Event()
        self._member = member
        self._request = MetadataRequest(topics=[MetadataRequestTopic(name=topic) for topic in topics])
        self._client: RawClient | None = None
        self._reigns: list[Reign] = []

    def reign(self, started: float, ended: float) -> Reign | None:
        if not ended:
            return None
        return next((one for one in self._reigns if one.since <= started and ended <= one.until), None)

    def run(self) -> None:
        current: Reign | None = None
        while not self.is_stopping.wait(PAUSE_S):
            asked = time.monotonic()
            process = self._pid()
            epochs = self._epochs() if process else None
            if epochs is None or self._pid() != process:
                current = None
            elif current is not None and (current.process, current.epochs) == (process, epochs):
                current = self._reigns[-1] = current._replace(until=asked)
            else:
                current = Reign(time.monotonic(), asked, process, epochs)
                self._reigns.append(current)

    def _pid(self) -> int:
        process = self._member._process
        return 0 if process is None else process.pid

    def _epochs(self) -> dict[Partition, int] | None:
        """Of the partitions that the broker leads, as it says itself; None if it does not answer."""
        try:
            if self._client is None:
                self._client = RawClient(self._member.port)
            answer = self._client.ask(ApiKey.METADATA, self._request)
        except (OSError, Closed):
            if self._client is not None:
                self._client.socket.close()
                self._client = None
            return None
        return {
            f"{topic.name}-{one.partition_index}": one.leader_epoch
            for topic in answer.topics
            for one in topic.partitions
            if one.leader_id == self._member.node_id
        }
