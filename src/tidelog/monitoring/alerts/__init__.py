"""The alerts, one file a theme. `tidelog.monitoring.alerts.catalogue` joins them into one table."""
