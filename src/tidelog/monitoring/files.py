"""The files that `tidelog monitoring export` writes: rules, dashboards and runbooks of this version."""

from tidelog.monitoring.dashboards.catalogue import DASHBOARDS
from tidelog.monitoring.rules import rules_text
from tidelog.monitoring.runbooks import runbooks

BESIDE_THE_RULES = "../runbooks"


def exported_files(runbooks_url: str | None = None) -> dict[str, str]:
    """Returns texts by their path in the directory. `runbooks_url`: where people read the runbooks."""
    url = BESIDE_THE_RULES if runbooks_url is None else runbooks_url.rstrip("/")
    return {
        "prometheus/tidelog-alerts.yml": rules_text(url),
        **{f"grafana/{dashboard.name}.json": dashboard.text() for dashboard in DASHBOARDS},
        **{f"runbooks/{name}.md": path.read_text(encoding="utf-8") for name, path in runbooks().items()},
    }
