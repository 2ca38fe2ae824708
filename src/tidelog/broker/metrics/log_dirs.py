"""The metrics of log dirs: their space, and whether they refuse records or hang."""

import math
from collections.abc import Iterator

from tidelog.broker.log_dirs.log_dir_watch import LogDirWatch
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.metrics.families.faults import (
    LOG_DIR_HANGS,
    LOG_DIR_JOURNAL_FAILED,
    LOG_DIR_REFUSED_BATCHES,
    LOG_DIR_REFUSING,
    LOG_DIR_REFUSING_IN_SECONDS,
    LOG_DIR_RESERVE_BYTES,
    SLOW_SYNCS,
)
from tidelog.metrics.families.storage import LOG_DIR_FREE_BYTES, LOG_DIR_TOTAL_BYTES
from tidelog.metrics.page import Page


def collect_log_dirs(page: Page, log_dirs: LogDirs, watch: LogDirWatch) -> Iterator[None]:
    for log_dir in log_dirs:
        path, reserve = log_dir.path, log_dir.reserve
        is_offline = log_dir.offline is not None
        page.add(SLOW_SYNCS, log_dir.slow_syncs, path)
        page.add(LOG_DIR_HANGS, log_dir.hangs, path)
        is_failed = log_dir.journal is not None and log_dir.journal.failure is not None
        page.add(LOG_DIR_JOURNAL_FAILED, is_failed and not is_offline, path)
        page.add(LOG_DIR_REFUSED_BATCHES, reserve.refused_requests, path)
        page.add(LOG_DIR_REFUSING, reserve.is_refusing and not is_offline, path)
        if reserve.total_bytes >= 0 and not is_offline:
            page.add(LOG_DIR_TOTAL_BYTES, reserve.total_bytes, path)
            page.add(LOG_DIR_FREE_BYTES, reserve.free_bytes, path)
            page.add(LOG_DIR_RESERVE_BYTES, reserve.reserve_bytes, path)
            seconds = watch.seconds_until_refusing(log_dir)
            page.add(LOG_DIR_REFUSING_IN_SECONDS, math.inf if seconds is None else seconds, path)
        yield
