"""The partitions of this broker: one walk over all of them, in turns, for their sums and their detail."""

from collections.abc import Iterable, Iterator
from itertools import islice

from tidelog.base.ids import NO_OFFSET
from tidelog.broker.health import Health
from tidelog.broker.metrics.topics import TopicSums, add_topics
from tidelog.broker.requests.context import Services
from tidelog.metadata.image.entities import PartitionImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metrics.families import partitions as families
from tidelog.metrics.families.cluster import READY
from tidelog.metrics.families.storage import LOG_DIR_LOG_BYTES, LOG_DIR_OFFLINE
from tidelog.metrics.families.transactions import PRODUCERS
from tidelog.metrics.family import Family
from tidelog.metrics.page import Page
from tidelog.replication.leader import Leader
from tidelog.replication.partition import Partition

SUMS_A_TURN = 256
DETAILS_A_TURN = 64

Row = tuple[str, int]


class PartitionsCollector:
    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self, page: Page) -> Iterator[None]:
        services = self._services
        hosted, image = services.partitions, services.metadata.image
        sums = PartitionSums(image)
        for piece in _pieces(hosted, SUMS_A_TURN):
            sums.count(piece)
            yield
        sums.add(page, damaged=hosted.unusable)
        failed = 0
        for log_dir in hosted.log_dirs:
            is_offline = log_dir.offline is not None or log_dir.path in sums.failed_log_dirs
            failed += is_offline
            page.add(LOG_DIR_OFFLINE, is_offline, log_dir.path)
            page.add(LOG_DIR_LOG_BYTES, sums.log_dirs.get(log_dir.path, 0), log_dir.path)
        page.add(READY, Health.of(services, failed).ready().ok)
        yield
        yield from add_topics(page, hosted.traffic, sums.topics, services.replication.fetches.sent_bytes)
        if len(hosted) <= services.config.int("metrics.partitions.max"):
            yield from _add_details(page, hosted)


class PartitionSums:
    def __init__(self, image: ClusterImage) -> None:
        self._topics = image.topics_by_id
        self.replicas = self.leaders = self.under_replicated = self.under_min_isr = self.at_min_isr = 0
        self.reassigning = self.damaged = self.lag_max = self.producers = 0
        self.topics: TopicSums = {}
        self.log_dirs: dict[str, int] = {}
        self.failed_log_dirs: set[str] = set()

    def count(self, piece: list[Partition]) -> None:
        """A loop with as few calls as can be: it is most of a scrape of ten thousand partitions."""
        topics, log_dirs = self.topics, self.log_dirs
        producers = damaged = 0
        for partition in piece:
            log = partition.log
            segments = log.segment_list
            size = segments.active.size + segments.sealed_bytes
            producers += len(log.producer_state.producers)
            log_dir = log.files.path.rpartition("/")[0]
            if log.health.offline is not None or log.lost is not None:
                damaged += 1
                if log.health.offline is not None and not log.health.is_short:
                    self.failed_log_dirs.add(log_dir)
            topic = topics.get(partition.traffic)
            if topic is None:
                topic = topics[partition.traffic] = [0, 0]
            topic[0] += size
            log_dirs[log_dir] = log_dirs.get(log_dir, 0) + size
            if partition.is_leader:
                topic[1] += 1
                self.count_led(partition)
            else:
                lag = partition.follower.leader_high_watermark - log.end
                self.lag_max = max(self.lag_max, lag)
        self.replicas += len(piece)
        self.producers += producers
        self.damaged += damaged

    def count_led(self, partition: Partition) -> None:
        in_sync, replicas = len(partition.isr), len(partition.replicas)
        needed = partition.min_insync_replicas
        self.leaders += 1
        if in_sync <= needed:
            needed = min(needed, replicas)
            self.under_min_isr += in_sync < needed
            # A single replica cannot fall behind itself.
            self.at_min_isr += in_sync == needed and replicas > 1
        topic = self._topics.get(partition.topic_id)
        image: PartitionImage | None = None if topic is None else topic.partition(partition.index)
        if image is not None and (image.adding or image.removing):
            self.reassigning += 1
            replicas -= len(image.adding)  # those that are on their way are not missing
        self.under_replicated += in_sync < replicas

    def add(self, page: Page, *, damaged: int) -> None:
        page.add(families.REPLICAS, self.replicas)
        page.add(families.LEADERS, self.leaders)
        page.add(families.UNDER_REPLICATED, self.under_replicated)
        page.add(families.UNDER_MIN_ISR, self.under_min_isr)
        page.add(families.AT_MIN_ISR, self.at_min_isr)
        page.add(families.REASSIGNING, self.reassigning)
        page.add(families.DAMAGED, self.damaged + damaged)
        page.add(families.REPLICA_LAG_MAX, self.lag_max)
        page.add(PRODUCERS, self.producers)


def _add_details(page: Page, partitions: Iterable[Partition]) -> Iterator[None]:
    for piece in _pieces(partitions, DETAILS_A_TURN):
        rows: dict[Family, list[Row]] = {
            families.LOG_START: [],
            families.LOG_END: [],
            families.HIGH_WATERMARK: [],
            families.IN_SYNC: [],
            families.REPLICA_COUNT: [],
            families.SIZE_BYTES: [],
            families.SEGMENTS: [],
        }
        start, end, high_watermark, in_sync, replicas, sizes, segments = rows.values()
        for one in piece:
            log = one.log
            labels = page.braces(families.SIZE_BYTES, one.topic, one.index)
            sizes.append((labels, log.segment_list.size_bytes))
            segments.append((labels, len(log.segment_list.sealed) + 1))
            if one.leader is not None:
                start.append((labels, log.start))
                end.append((labels, log.end))
                high_watermark.append((labels, one.high_watermark))
                in_sync.append((labels, len(one.isr)))
                replicas.append((labels, len(one.replicas)))
                if len(one.replicas) > 1:
                    _add_followers(page, one, one.leader)
        for family, samples in rows.items():
            if samples:
                page.add_rows(family, samples)
        yield


def _add_followers(page: Page, partition: Partition, leader: Leader) -> None:
    end = partition.log.end
    for node in partition.replicas:
        progress = leader.progress_of(node)
        if progress is not None and progress.end != NO_OFFSET:  # else it has not fetched in this epoch
            lag = max(0, end - progress.end)
            page.add(families.FOLLOWER_LAG, lag, partition.topic, partition.index, node)


def _pieces(partitions: Iterable[Partition], size: int) -> Iterator[list[Partition]]:
    rest = iter(partitions)
    while piece := list(islice(rest, size)):
        yield piece
