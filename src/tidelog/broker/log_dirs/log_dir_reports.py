"""Reports the log dir of each replica to the controller, so that it knows which replicas fail with a disk.

A broker moves a replica, or places it in one of several log dirs, without the controller. Until the report,
the controller could take a replica on a failed disk for an available one. A replica whose log is damaged is
reported as lost, and in its log dir again once it is repaired.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Epoch, Uuid
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.peers.peers import Peers
from tidelog.metadata.brokers.directories import DirectoryAssignment, unreported_directories
from tidelog.metadata.image.entities import LOST_DIRECTORY
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
    AssignReplicasToDirsResponse,
)

REPORT_SECONDS = 2.0
REPLICAS_PER_REPORT_MAX = 2000
TIMEOUT_SECONDS = 5.0
WAIT_SECONDS = 0.02

log = logging.getLogger("tidelog.broker.log_dirs")


class LogDirReports:
    def __init__(
        self,
        metadata: MetadataService,
        log_dirs: LogDirs,
        peers: Peers,
        broker_epoch: Callable[[], Epoch],
        damaged: Callable[[], Collection[tuple[Uuid, int]]],
    ) -> None:
        self._metadata = metadata
        self._log_dirs = log_dirs
        self._peers = peers
        self._broker_epoch = broker_epoch
        self._damaged = damaged
        self._checked: object = None
        self._checked_damaged: Collection[tuple[Uuid, int]] = ()

    async def send(self) -> None:
        """Report what changed since the last time; usually nothing."""
        topics, damaged = self._metadata.image.topics, self._damaged()
        if len(self._log_dirs) == 1 and topics is self._checked and damaged == self._checked_damaged:
            return  # in a single log dir nothing moves
        wrong = self._wrong(damaged)
        if not wrong:
            self._checked, self._checked_damaged = topics, damaged
            return
        request = AssignReplicasToDirsRequest(
            broker_id=self._metadata.node_id,
            broker_epoch=self._broker_epoch(),
            directories=_grouped(wrong[:REPLICAS_PER_REPORT_MAX]),
        )
        try:
            answer: AssignReplicasToDirsResponse = await self._peers.call_controller(
                ApiKey.ASSIGN_REPLICAS_TO_DIRS, 0, request, timeout=TIMEOUT_SECONDS
            )
        except OSError as error:
            log.debug("the log dirs of %d replicas could not be reported: %s", len(wrong), error)
            return
        if answer.error_code:
            log.debug("log dirs were not reported: %s", ErrorCode.of(answer.error_code).name)

    async def report_damage(self, seconds: float) -> None:
        """Before this broker is unfenced, so that a replica that misses records is not elected.

        It would refuse to lead anyway, so without a controller this gives up after `seconds`.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        damaged = self._damaged()
        while damaged and loop.time() < until:
            if not any(one.directory == LOST_DIRECTORY for one in self._wrong(damaged)):
                return
            await self.send()
            await asyncio.sleep(WAIT_SECONDS)

    def _wrong(self, damaged: Collection[tuple[Uuid, int]]) -> list[DirectoryAssignment]:
        return unreported_directories(self._metadata.image, self._metadata.node_id, self._replicas(damaged))

    def _replicas(self, damaged: Collection[tuple[Uuid, int]]) -> Iterator[tuple[Uuid, int, Uuid]]:
        for log_dir in self._log_dirs:
            if log_dir.offline is None:
                directory = log_dir.id
                for key in tuple(log_dir.partition_dirs):
                    yield *key, LOST_DIRECTORY if key in damaged else directory
        for key in damaged:
            if not any(
                key in log_dir.partition_dirs for log_dir in self._log_dirs
            ):  # it could not even be created
                yield *key, LOST_DIRECTORY


def _grouped(replicas: list[DirectoryAssignment]) -> list[AssignReplicasToDirsRequestDirectoryData]:
    directories: dict[Uuid, AssignReplicasToDirsRequestDirectoryData] = {}
    topics: dict[tuple[Uuid, Uuid], AssignReplicasToDirsRequestTopicData] = {}
    for one in replicas:
        directory = directories.setdefault(
            one.directory, AssignReplicasToDirsRequestDirectoryData(id_=one.directory)
        )
        topic = topics.get((one.directory, one.topic_id))
        if topic is None:
            topic = AssignReplicasToDirsRequestTopicData(topic_id=one.topic_id)
            topics[one.directory, one.topic_id] = topic
            directory.topics.append(topic)
        topic.partitions.append(AssignReplicasToDirsRequestPartitionData(partition_index=one.partition))
    return list(directories.values())
