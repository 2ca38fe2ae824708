"""Writes rules for Prometheus, dashboards for Grafana and the list of alerts; `--check` only compares.

python -m tools.monitoring_files
"""

import sys
from pathlib import Path

from tidelog.monitoring.alerts.alert import Alert
from tidelog.monitoring.alerts.catalogue import ALERTS
from tidelog.monitoring.dashboards.catalogue import DASHBOARDS
from tidelog.monitoring.rules import rules_text
from tools.pages import run

ROOT = Path(__file__).parents[1]
RULES = ROOT / "deploy" / "prometheus" / "tidelog-alerts.yml"

DASHBOARD_DIR = ROOT / "deploy" / "grafana" / "dashboards"
ALERTS_PAGE = ROOT / "docs" / "reference" / "alerts.md"

INTRODUCTION = """\
<!-- Written by tools/monitoring_files.py from tidelog.monitoring.alerts; change that. -->

# Alerts

The alerts of `deploy/prometheus/tidelog-alerts.yml`, which `tidelog monitoring export DIR` writes too. A
critical alert wakes a person up: clients fail, or data is in danger. A warning is looked at the same day. How
to set them up: [monitoring](../monitoring.md).
"""


def alerts_page() -> str:
    parts = [INTRODUCTION]
    for theme, alerts in ALERTS.items():
        parts.append(f"\n## {theme.capitalize()}\n")
        parts += ["| alert | severity | after | fires where |", "|---|---|---|---|"]
        parts += [_row(alert) for alert in alerts]
    return "\n".join(parts) + "\n"


def _row(alert: Alert) -> str:
    name = f"[{alert.name}](../runbooks/{alert.name}.md)"
    expression = alert.expression.replace("|", "\\|")
    return f"| {name} | {alert.severity.value} | {alert.hold} | `{expression}` |"


PAGES = {
    RULES: rules_text,
    ALERTS_PAGE: alerts_page,
    **{DASHBOARD_DIR / f"{dashboard.name}.json": dashboard.text for dashboard in DASHBOARDS},
}

if __name__ == "__main__":
    sys.exit(run(PAGES, sys.argv[1:]))
