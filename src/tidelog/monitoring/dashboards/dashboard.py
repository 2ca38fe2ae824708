"""A dashboard: variables that choose what it shows, and rows of panels."""

import json
from dataclasses import dataclass
from typing import Any

from tidelog.monitoring.dashboards.panel import DATA_SOURCE, Panel

SCHEMA_VERSION = 39
"""Grafana 10.1 and newer read it; newer ones convert it by themselves."""
COLUMNS = 24


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    label: str
    query: str
    """A query of Grafana's Prometheus source, such as `label_values(tidelog_info, job)`."""
    many: bool = False

    def json(self) -> dict[str, Any]:
        chosen = {"selected": True, "text": ["All"], "value": ["$__all"]} if self.many else {}
        return {
            "type": "query",
            "name": self.name,
            "label": self.label,
            "datasource": DATA_SOURCE,
            "query": {"query": self.query, "refId": self.name},
            "refresh": 2,  # whenever the time range changes, so that new topics and groups appear
            "sort": 1,
            "multi": self.many,
            "includeAll": self.many,
            **({"allValue": ".*"} if self.many else {}),
            "current": chosen,
        }


JOB = Variable("job", "Cluster", "label_values(tidelog_info, job)")
BROKERS = Variable("broker", "Broker", 'label_values(tidelog_info{job="$job"}, instance)', many=True)


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Dashboard:
    name: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row.panels]

    def json(self) -> dict[str, Any]:
        return {
            "uid": f"tidelog-{self.name}",
            "title": f"Tidelog: {self.title}",
            "description": self.description,
            "tags": ["tidelog"],
            "schemaVersion": SCHEMA_VERSION,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "timezone": "browser",
            "links": [_LINKS],
            "templating": {
                "list": [_DATA_SOURCE_VARIABLE, *(variable.json() for variable in self.variables)]
            },
            "annotations": {"list": []},
            "panels": self._placed(),
        }

    def text(self) -> str:
        return json.dumps(self.json(), indent=2) + "\n"

    def _placed(self) -> list[dict[str, Any]]:
        """Panels from left to right; the next line begins below the highest of the last."""
        placed: list[dict[str, Any]] = []
        y = 0
        for row in self.rows:
            place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
            placed.append(
                {
                    "id": len(placed) + 1,
                    "type": "row",
                    "title": row.title,
                    "collapsed": False,
                    "gridPos": place,
                    "panels": [],
                }
            )
            x, y, height = 0, y + 1, 0
            for panel in row.panels:
                if x + panel.width > COLUMNS:
                    x, y, height = 0, y + height, 0
                placed.append(panel.json(len(placed) + 1, x, y))
                x, height = x + panel.width, max(height, panel.height)
            y += height
        return placed


_DATA_SOURCE_VARIABLE = {
    "type": "datasource",
    "name": "datasource",
    "label": "Data source",
    "query": "prometheus",
    "refresh": 1,
    "multi": False,
    "includeAll": False,
    "current": {},
}
_LINKS = {
    "type": "dashboards",
    "title": "Tidelog",
    "tags": ["tidelog"],
    "asDropdown": False,
    "icon": "external link",
    "includeVars": True,
    "keepTime": True,
    "targetBlank": False,
    "tooltip": "",
    "url": "",
}
