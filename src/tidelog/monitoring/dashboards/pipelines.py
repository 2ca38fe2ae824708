"""Pipelines on Spark."""

from tidelog.monitoring.dashboards.dashboard import Dashboard, Row, Variable
from tidelog.monitoring.dashboards.panel import GREEN, ORANGE, RED, figure, graph

JOBS = Variable("job", "Job", "label_values(tidelog_pipeline_up, job)")
PIPELINE = Variable(
    "pipeline", "Pipeline", 'label_values(tidelog_pipeline_up{job="$job"}, pipeline)', many=True
)
_IT = 'job="$job",pipeline=~"$pipeline"'
_NAME = "{{pipeline}} {{query}}"

STATE = Row(
    "State",
    (
        figure("Queries", "Queries of all pipelines.", f"count(tidelog_pipeline_up{{{_IT}}})", width=6),
        figure(
            "Queries that run",
            "Queries that have not failed.",
            f"sum(tidelog_pipeline_up{{{_IT}}})",
            (1, GREEN),
            base=RED,
            width=6,
        ),
        figure(
            "Restarts in an hour",
            "Queries that were started again after a failure.",
            f"sum(increase(tidelog_pipeline_restarts_total{{{_IT}}}[1h]))",
            (1, ORANGE),
            width=6,
        ),
        figure(
            "Oldest last batch",
            "How long ago the query that is quiet longest finished a micro-batch.",
            f"time() - min(tidelog_pipeline_last_batch_time_seconds{{{_IT}}})",
            (600, ORANGE),
            unit="s",
            width=6,
        ),
    ),
)
PROGRESS = Row(
    "Progress",
    (
        graph(
            "Lag",
            "Records between what a query has read and the end, by topic.",
            "short",
            (
                f"sum by (pipeline, query, topic) (tidelog_pipeline_lag_records{{{_IT}}})",
                _NAME + " {{topic}}",
            ),
        ),
        graph(
            "Rows in",
            "Rows that arrive a second, as Spark measures it.",
            "cps",
            (f"tidelog_pipeline_input_rows_per_second{{{_IT}}}", _NAME),
        ),
        graph(
            "Rows processed",
            "Rows that a query can process a second. Below what arrives, lag grows.",
            "cps",
            (f"tidelog_pipeline_processed_rows_per_second{{{_IT}}}", _NAME),
        ),
        graph(
            "Rows read and written",
            "By all micro-batches; a sink that does not count has no line.",
            "cps",
            (f"rate(tidelog_pipeline_input_rows_total{{{_IT}}}[$__rate_interval])", _NAME + " read"),
            (f"rate(tidelog_pipeline_output_rows_total{{{_IT}}}[$__rate_interval])", _NAME + " written"),
        ),
        graph(
            "Micro-batches",
            "How long the last one took.",
            "s",
            (f"tidelog_pipeline_batch_seconds{{{_IT}}}", _NAME),
        ),
        graph(
            "Micro-batches a second",
            "A query without new records makes none.",
            "cps",
            (f"rate(tidelog_pipeline_batches_total{{{_IT}}}[$__rate_interval])", _NAME),
        ),
        graph(
            "Watermark behind",
            "How far event time is behind now; late records beyond it are dropped.",
            "s",
            (f"tidelog_pipeline_watermark_lag_seconds{{{_IT}}}", _NAME),
        ),
        graph(
            "Late rows",
            "Rows dropped a second, since they came after the watermark.",
            "cps",
            (f"rate(tidelog_pipeline_late_rows_total{{{_IT}}}[$__rate_interval])", _NAME),
        ),
        graph(
            "State",
            "Rows in the state of windows, joins and aggregations. Growth without end: a watermark is "
            "missing.",
            "short",
            (f"tidelog_pipeline_state_rows{{{_IT}}}", _NAME),
        ),
    ),
)

PIPELINES = Dashboard(
    "pipelines",
    "pipelines",
    "Progress of pipelines on Spark.",
    (JOBS, PIPELINE),
    (STATE, PROGRESS),
)
