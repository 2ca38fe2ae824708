"""The progress of queries on a page of metrics."""

from tidelog.metrics.page import Page
from tidelog.metrics.text_format import text_of
from tidelog.spark.pipeline.metrics import PipelineMetrics, watermark_lag_s
from tidelog.spark.pipeline.progress import QueryProgress

NOW_S = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def test_every_figure_of_a_query_is_shown() -> None:
    now_s = NOW_S
    metrics = PipelineMetrics("totals", lambda: now_s)
    assert metrics.silent_s == 0.0
    metrics.take(
        [
            QueryProgress(
                "large",
                rows=10,
                output_rows=4,
                batches=2,
                batch_ms=1500,
                input_per_s=2.0,
                processed_per_s=5.0,
                lag_by_topic={"orders": 7, "users": 0},
                state_rows=3,
                state_bytes=300,
                dropped_late=1,
                watermark="2025-12-31T23:59:00.000Z",
                ended_s=NOW_S - 5,
                restarts=1,
            ),
            QueryProgress("idle", is_active=False),
        ]
    )
    page = Page()
    list(metrics.collect(page))
    lines = "".join(text_of(page, open_metrics=False)).splitlines()
    large = {
        line.removeprefix("tidelog_pipeline_").replace('{pipeline="totals",query="large"}', "")
        for line in lines
        if 'query="large"' in line
    }
    assert large == {
        "up 1",
        "input_rows_total 10",
        "output_rows_total 4",
        "batches_total 2",
        "batch_seconds 1.5",
        "input_rows_per_second 2.0",
        "processed_rows_per_second 5.0",
        "state_rows 3",
        "state_bytes 300",
        "late_rows_total 1",
        "restarts_total 1",
        f"last_batch_time_seconds {NOW_S - 5}",
        "watermark_lag_seconds 60.0",
        'lag_records{pipeline="totals",query="large",topic="orders"} 7',
        'lag_records{pipeline="totals",query="large",topic="users"} 0',
    }
    assert 'tidelog_pipeline_up{pipeline="totals",query="idle"} 0' in lines
    now_s += 61
    assert metrics.silent_s == 61


def test_a_watermark_that_is_not_there_yet() -> None:
    assert watermark_lag_s(None, NOW_S) is None
    assert watermark_lag_s("1970-01-01T00:00:00.000Z", NOW_S) is None
    assert watermark_lag_s("soon", NOW_S) is None
