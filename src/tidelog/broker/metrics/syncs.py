"""How long the syncs of logs take, by log dir."""

from collections.abc import Iterator

from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.metrics.families.storage import FSYNC_SECONDS
from tidelog.metrics.histogram import Histogram
from tidelog.metrics.page import Page


class SyncTimes:
    def __init__(self, partitions: HostedPartitions) -> None:
        self._by_log_dir = {log_dir.path: Histogram(FSYNC_SECONDS.bounds) for log_dir in partitions.log_dirs}
        partitions.watch_syncs(self._observe)

    def collect(self, page: Page) -> Iterator[None]:
        for path, seconds in self._by_log_dir.items():
            page.add_histogram(FSYNC_SECONDS, seconds, path)
        yield

    def _observe(self, directory: str, seconds: float) -> None:
        times = self._by_log_dir.get(directory.rpartition("/")[0])
        if times is not None:
            times.observe(seconds)
