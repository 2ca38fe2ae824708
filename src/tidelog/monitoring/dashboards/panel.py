"""A panel of a dashboard, and the JSON that Grafana wants of it."""

from dataclasses import dataclass
from typing import Any

DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GREEN, ORANGE, RED = "green", "orange", "red"


@dataclass(frozen=True, slots=True)
class Query:
    expression: str
    legend: str = ""
    """The name of a line, such as `{{instance}}`."""


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    description: str
    unit: str
    """Of Grafana's units: bytes, Bps, s, short, percentunit, reqps."""
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    steps: tuple[tuple[float, str], ...] = ()
    """Colours from a value on. Below the first the colour is green."""
    base: str = GREEN
    width: int = 8
    height: int = 7
    stacked: bool = False
    lowest: float | None = 0
    """Where the axis begins; None follows the values below zero."""

    def json(self, number: int, x: int, y: int) -> dict[str, Any]:
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": DATA_SOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [
                self._target(letter, query) for letter, query in zip("ABCDEFGH", self.queries, strict=False)
            ],
            "fieldConfig": {"defaults": self._defaults(), "overrides": []},
            "options": self._options(),
        }

    def _target(self, letter: str, query: Query) -> dict[str, Any]:
        return {
            "refId": letter,
            "datasource": DATA_SOURCE,
            "expr": query.expression,
            "legendFormat": query.legend or "__auto",
            # A table and a single figure show the moment, a graph its course.
            "instant": self.kind != "timeseries",
            "range": self.kind == "timeseries",
            **({"format": "table"} if self.kind == "table" else {}),
        }

    def _defaults(self) -> dict[str, Any]:
        steps = [
            {"value": None, "color": self.base},
            *({"value": value, "color": c} for value, c in self.steps),
        ]
        defaults: dict[str, Any] = {
            "unit": self.unit,
            **({} if self.lowest is None else {"min": self.lowest}),
            "color": {"mode": "thresholds" if self.kind == "stat" else "palette-classic"},
            "thresholds": {"mode": "absolute", "steps": steps},
        }
        if self.kind == "timeseries":
            defaults["custom"] = {
                "fillOpacity": 20 if self.stacked else 5,
                "showPoints": "never",
                "stacking": {"mode": "normal" if self.stacked else "none", "group": "A"},
                "thresholdsStyle": {"mode": "line" if self.steps else "off"},
            }
        return defaults

    def _options(self) -> dict[str, Any]:
        if self.kind == "timeseries":
            return {
                "legend": {
                    "displayMode": "table",
                    "placement": "bottom",
                    "showLegend": True,
                    "calcs": ["lastNotNull", "max"],
                },
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        if self.kind == "table":
            return {"showHeader": True, "cellHeight": "sm"}
        return {
            "reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""},
            "colorMode": "background",
            "graphMode": "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "textMode": "auto",
        }


def graph(title: str, description: str, unit: str, *queries: tuple[str, str], **more: Any) -> Panel:
    return Panel(title, description, unit, tuple(Query(*query) for query in queries), **more)


def figure(title: str, description: str, expression: str, *steps: tuple[float, str], **more: Any) -> Panel:
    """One large number on a colour; four of them are as wide as a dashboard."""
    options = {"unit": "short", "width": 3, "height": 4, **more}
    return Panel(title, description, queries=(Query(expression),), kind="stat", steps=steps, **options)
