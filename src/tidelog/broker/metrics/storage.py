"""The start of the broker, compaction and retention."""

from collections.abc import Iterator

from tidelog.base.ports import Clock
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.metrics.families import storage as families
from tidelog.metrics.page import Page


class StorageCollector:
    def __init__(self, partitions: HostedPartitions, clock: Clock) -> None:
        self._partitions = partitions
        self._clock = clock

    def collect(self, page: Page) -> Iterator[None]:
        started, counters = self._partitions.start_progress, self._partitions.counters
        page.add(families.RECOVERY_LOGS, started.logs, "total")
        page.add(families.RECOVERY_LOGS, started.opened_logs, "done")
        page.add(families.RECOVERY_SECONDS, started.seconds(self._clock.monotonic()))
        page.add(families.CLEANED_BYTES, counters.cleaner_read_bytes)
        page.add(families.CLEANER_FREED_BYTES, counters.cleaner_freed_bytes)
        page.add(families.CLEANER_RUNS, counters.cleaned_logs)
        page.add(families.CLEANER_DIRTY_RATIO, counters.dirty_ratio_max)
        page.add(families.CLEANER_BUSY_SECONDS, counters.cleaner_seconds)
        page.add(families.CLEANER_FAILED_LOGS, counters.uncleanable_logs)
        page.add(families.RETIRED_SEGMENTS, counters.retired_segments)
        page.add(families.RETIRED_BYTES, counters.retired_bytes)
        yield
