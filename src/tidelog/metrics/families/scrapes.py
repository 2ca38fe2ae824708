"""Scrapes themselves."""

from tidelog.metrics.family import counter, gauge, histogram

SERIES_LEFT_OUT = gauge(
    "tidelog_metrics_series_left_out", "Series that this scrape left out, since it has a limit."
)
COLLECTOR_ERRORS = counter(
    "tidelog_metrics_collector_errors_total",
    "Collectors that failed, whose metrics are missing.",
    "collector",
)
SCRAPE_SECONDS = histogram("tidelog_metrics_scrape_seconds", "CPU time of earlier scrapes.")
