"""The progress of a pipeline's queries as metrics: what the last report said, read at a scrape."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from tidelog.metrics.families import pipelines as families
from tidelog.metrics.page import Page
from tidelog.spark.pipeline.progress import QueryProgress

SILENT_S = 60.0
"""A driver that has not looked at its queries for this long hangs."""


class PipelineMetrics:
    """Fed by the thread that watches the queries, read by the one that serves them."""

    def __init__(self, name: str, now_s: Callable[[], float] = time.time) -> None:
        self._name = name
        self._now_s = now_s
        self._found: list[QueryProgress] = []
        self._taken_s: float | None = None

    def take(self, found: list[QueryProgress]) -> None:
        self._found = found
        self._taken_s = self._now_s()

    @property
    def silent_s(self) -> float:
        """How long ago the queries were looked at; 0 before the first time, while Spark starts."""
        return 0.0 if self._taken_s is None else self._now_s() - self._taken_s

    def collect(self, page: Page) -> Iterator[None]:
        for query in self._found:
            labels = (self._name, query.name)
            page.add(families.UP, query.is_active, *labels)
            page.add(families.INPUT_ROWS, query.rows, *labels)
            page.add(families.OUTPUT_ROWS, query.output_rows, *labels)
            page.add(families.BATCHES, query.batches, *labels)
            page.add(families.BATCH_SECONDS, query.batch_ms / 1000, *labels)
            page.add(families.INPUT_RATE, query.input_per_s, *labels)
            page.add(families.PROCESSED_RATE, query.processed_per_s, *labels)
            page.add(families.STATE_ROWS, query.state_rows, *labels)
            page.add(families.STATE_BYTES, query.state_bytes, *labels)
            page.add(families.DROPPED_LATE, query.dropped_late, *labels)
            page.add(families.RESTARTS, query.restarts, *labels)
            if query.ended_s is not None:
                page.add(families.LAST_BATCH_TIME, query.ended_s, *labels)
            behind_s = watermark_lag_s(query.watermark, self._now_s())
            if behind_s is not None:
                page.add(families.WATERMARK_SECONDS, behind_s, *labels)
            for topic, lag in query.lag_by_topic.items():
                page.add(families.LAG_RECORDS, lag, *labels, topic)
            yield


def watermark_lag_s(watermark: str | None, now_s: float) -> float | None:
    """None where there is no watermark; before the first record Spark reports the year 1970."""
    if watermark is None:
        return None
    try:
        moment = datetime.fromisoformat(watermark)
    except ValueError:
        return None
    at_s = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    return now_s - at_s if at_s > 0 else None
