"""Alert rules of Prometheus and dashboards of Grafana, as data, made from the table of all metrics."""
