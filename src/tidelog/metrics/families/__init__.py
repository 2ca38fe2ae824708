"""The metrics, one file a theme. `tidelog.metrics.catalogue` joins them into one table."""
