"""The alerts as a file of rules, as Prometheus reads it."""

from typing import Any

import yaml

from tidelog.monitoring.alerts.alert import Alert
from tidelog.monitoring.alerts.catalogue import ALERTS

RUNBOOKS = "docs/runbooks"
"""A path of the repository; `tidelog monitoring export --runbooks URL` names another place."""

HEAD = "# Written by `make docs` from tidelog.monitoring.alerts; change that.\n"


def rules(runbooks: str = RUNBOOKS) -> dict[str, Any]:
    return {
        "groups": [
            {"name": f"tidelog-{theme}", "rules": [_rule(alert, runbooks) for alert in alerts]}
            for theme, alerts in ALERTS.items()
        ]
    }


def rules_text(runbooks: str = RUNBOOKS) -> str:
    return HEAD + yaml.safe_dump(rules(runbooks), sort_keys=False, width=110)


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.hold,
        "labels": {"severity": alert.severity.value},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{runbooks}/{alert.name}.md",
        },
    }
