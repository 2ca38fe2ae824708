"""The queue in front of the disk threads."""

from collections.abc import Iterator

from tidelog.metrics.collectors import Collector
from tidelog.metrics.families.storage import DISK_THREADS_WAITING
from tidelog.metrics.page import Page
from tidelog.server.disk_threads import DiskThreads


def disk_thread_metrics(threads: DiskThreads) -> Collector:
    def collect(page: Page) -> Iterator[None]:
        page.add(DISK_THREADS_WAITING, threads.waiting)
        yield

    return collect
