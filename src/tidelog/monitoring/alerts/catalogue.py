"""Every alert, by theme: what the rules, the runbooks and the page of all alerts are made of."""

from tidelog.monitoring.alerts import brokers, controllers, queues, readers, replication, requests, storage
from tidelog.monitoring.alerts.alert import Alert

THEMES = {
    "brokers": brokers,
    "controllers": controllers,
    "replication": replication,
    "storage": storage,
    "requests": requests,
    "readers": readers,
    "queues": queues,
}

ALERTS: dict[str, list[Alert]] = {
    theme: [value for value in vars(module).values() if isinstance(value, Alert)]
    for theme, module in THEMES.items()
}
