"""A partition directory in a broker's log dir, as a reader beside the broker sees it.

Files come and go. Only the directory of the partition's leader counts: a follower that came back may hold
records that were never committed. Whatever looks odd is `Unreadable`, and the network is asked instead.
"""

import os
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import KafkaError, TidelogError
from tidelog.base.ids import Offset
from tidelog.blocking.cluster import NO_ID, Cluster, TopicPartition
from tidelog.storage.file_names import INDEX, LOG, SWAP, TXN_INDEX, file_name, parse
from tidelog.storage.log_dir.encryption_marks import encryption_mark
from tidelog.storage.log_dir.files import META
from tidelog.storage.log_dir.identity import LogDirIdentity
from tidelog.storage.log_dir.partition_dir import read_topic_id
from tidelog.storage.segment.offset_index import CorruptIndex, OffsetIndex
from tidelog.storage.segment.transaction_index import Aborted, TransactionIndex
from tidelog.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)


class Unreadable(Exception):
    """The files cannot be trusted or are gone; the broker can still be asked."""


class SealedSegment(NamedTuple):
    base: Offset
    next_base: Offset
    """Of the segment that follows, so all records here are below."""


def find_partition_directory(
    cluster: Cluster, partition: TopicPartition, topic_id: bytes, log_dirs: Iterable[str]
) -> "PartitionDirectory":
    """Looks for the leader's copy of the partition in `log_dirs`, or else where the leader says it is."""
    leader = cluster.leader(partition)
    if topic_id == NO_ID:
        topic_id = cluster.topic(partition.topic).id
    for log_dir in list(log_dirs) or _leader_log_dirs(cluster, leader, partition):
        partition_dir = f"{log_dir.rstrip('/')}/{partition}"
        if _belongs(log_dir, partition_dir, leader, topic_id):
            return PartitionDirectory(partition_dir)
    raise Unreadable(f"no log dir of broker {leader} with {partition} can be seen from here")


def _leader_log_dirs(cluster: Cluster, leader: int, partition: TopicPartition) -> list[str]:
    topic = DescribableLogDirTopic(topic=partition.topic, partitions=[partition.partition])
    try:
        answer: DescribeLogDirsResponse = cluster.call_node(leader, DescribeLogDirsRequest(topics=[topic]))
    except (KafkaError, TidelogError) as error:
        raise Unreadable(f"broker {leader} does not list its log dirs: {error}") from error
    return [result.log_dir for result in answer.results if not result.error_code and result.topics]


def _belongs(log_dir: str, partition_dir: str, leader: int, topic_id: bytes) -> bool:
    """Ids of topics are random, so an id that fits, in a log dir of that broker, is of the same cluster."""
    meta = f"{log_dir.rstrip('/')}/{META}"
    try:
        with open(meta, "rb") as file:
            identity = LogDirIdentity.load(file.read(), meta)
        return (
            encryption_mark(PosixDisk(), log_dir.rstrip("/")) is None  # the broker can decrypt it
            and identity.node_id == leader
            and topic_id != NO_ID
            and read_topic_id(PosixDisk(), partition_dir) == topic_id
        )
    except (OSError, TidelogError):
        return False


class PartitionDirectory:
    def __init__(self, path: str) -> None:
        self.path = path

    def sealed(self) -> list[SealedSegment]:
        """All but the last, which is still written to."""
        bases = self._bases(LOG)
        return [SealedSegment(base, following) for base, following in pairwise(bases)]

    def bases_from(self, base: Offset) -> list[Offset]:
        """Of the segments from this one on, with the last."""
        return [each for each in self._bases(LOG) if each >= base]

    def aborted(self, base: Offset, start: Offset) -> list[Aborted]:
        """Aborted transactions with a marker at `start` or above, which lies in the segment with this base.

        Ask while the segment's file is open, and check with `is_current` afterwards: compaction, which takes
        files out in the order of the log, may have changed both.
        """
        found = []
        for each in self._bases(TXN_INDEX):
            if each >= base:
                try:
                    index = TransactionIndex.load(each, self._read(each, TXN_INDEX))
                except CorruptIndex as error:
                    raise Unreadable(f"{file_name(each, TXN_INDEX)}: {error}") from error
                found += [entry for entry in index.entries if entry.last >= start]
        return found

    def position_before(self, base: Offset, offset: Offset, size: int) -> int:
        """A position in the segment at or before the batch that holds `offset`; a hint, the index may lie."""
        try:
            entry = OffsetIndex.load(base, self._read(base, INDEX), size).at_or_below(offset)
        except (CorruptIndex, Unreadable):
            return 0
        return entry[1] if entry else 0

    def open(self, base: Offset) -> int:
        try:
            return os.open(f"{self.path}/{file_name(base, LOG)}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise Unreadable(str(error)) from error

    def exists(self, base: Offset) -> bool:
        return os.path.exists(f"{self.path}/{file_name(base, LOG)}")

    def is_current(self, base: Offset, descriptor: int) -> bool:
        """Whether the open file is still the segment with this base."""
        try:
            named, opened = os.stat(f"{self.path}/{file_name(base, LOG)}"), os.fstat(descriptor)
        except OSError:
            return False
        return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)

    def _bases(self, suffix: str) -> list[Offset]:
        try:
            parsed = [found for name in os.listdir(self.path) if (found := parse(name)) is not None]
        except OSError as error:
            raise Unreadable(str(error)) from error
        if any(each.endswith(SWAP) for _, each in parsed):
            raise Unreadable(f"{self.path}: compaction is putting a segment in place")
        return sorted(base for base, each in parsed if each == suffix)

    def _read(self, base: Offset, suffix: str) -> bytes:
        try:
            with open(f"{self.path}/{file_name(base, suffix)}", "rb") as file:
                return file.read()
        except OSError as error:
            raise Unreadable(str(error)) from error
