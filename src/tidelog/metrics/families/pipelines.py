"""Pipelines on Spark, served by the process that runs them."""

from tidelog.metrics.family import counter, gauge

UP = gauge("tidelog_pipeline_up", "1 while the query runs, 0 after it failed.", "pipeline", "query")
INPUT_ROWS = counter("tidelog_pipeline_input_rows_total", "Rows read.", "pipeline", "query")
OUTPUT_ROWS = counter(
    "tidelog_pipeline_output_rows_total", "Rows written, where the sink says so.", "pipeline", "query"
)
BATCHES = counter("tidelog_pipeline_batches_total", "Micro-batches done.", "pipeline", "query")
BATCH_SECONDS = gauge(
    "tidelog_pipeline_batch_seconds", "How long the last micro-batch took.", "pipeline", "query"
)
INPUT_RATE = gauge(
    "tidelog_pipeline_input_rows_per_second", "Rows that arrive a second.", "pipeline", "query"
)
PROCESSED_RATE = gauge(
    "tidelog_pipeline_processed_rows_per_second", "Rows that are processed a second.", "pipeline", "query"
)
LAG_RECORDS = gauge(
    "tidelog_pipeline_lag_records",
    "Records between what the query has read and the end.",
    "pipeline",
    "query",
    "topic",
)
WATERMARK_SECONDS = gauge(
    "tidelog_pipeline_watermark_lag_seconds",
    "How far the event time watermark is behind now.",
    "pipeline",
    "query",
)
STATE_ROWS = gauge(
    "tidelog_pipeline_state_rows",
    "Rows in the state of windows, joins and aggregations.",
    "pipeline",
    "query",
)
STATE_BYTES = gauge("tidelog_pipeline_state_bytes", "Memory that this state takes.", "pipeline", "query")
DROPPED_LATE = counter(
    "tidelog_pipeline_late_rows_total",
    "Rows that came after the watermark, and were dropped.",
    "pipeline",
    "query",
)
LAST_BATCH_TIME = gauge(
    "tidelog_pipeline_last_batch_time_seconds",
    "When the last micro-batch ended, in seconds since 1970.",
    "pipeline",
    "query",
)
RESTARTS = counter(
    "tidelog_pipeline_restarts_total",
    "Times that the query was started again after a failure.",
    "pipeline",
    "query",
)
