"""The dashboards ask for metrics that exist, explain each panel, and no panel covers another."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.rigs.promql import faults
from tidelog.monitoring.dashboards.catalogue import DASHBOARDS
from tidelog.monitoring.dashboards.dashboard import COLUMNS, Dashboard

each_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.name)
UNITS = {"bytes", "Bps", "s", "short", "percentunit", "reqps", "cps"}


def expressions(dashboard: Dashboard) -> Iterator[str]:
    yield from (query.expression for panel in dashboard.panels for query in panel.queries)
    for variable in dashboard.variables:
        selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable.query).groups()  # type: ignore[union-attr]
        yield f"sum by ({label}) ({selector})"


def used_variables(text: str) -> set[str]:
    return set(re.findall(r"\$\{?([a-z]+)\}?", text))


@each_dashboard
def test_metrics_and_labels_are_in_the_table(dashboard: Dashboard) -> None:
    assert [fault for expression in expressions(dashboard) for fault in faults(expression)] == []


@each_dashboard
def test_panels_have_a_unit_and_an_explanation(dashboard: Dashboard) -> None:
    for panel in dashboard.panels:
        assert panel.description.endswith("."), panel.title
        assert panel.unit in UNITS, panel.title
        assert all(query.legend for query in panel.queries) or panel.kind != "timeseries", panel.title
        assert [value for value, _ in panel.steps] == sorted(value for value, _ in panel.steps), panel.title
    titles = [panel.title for row in dashboard.rows for panel in row.panels]
    assert len(titles) == len(set(titles))


@each_dashboard
def test_every_query_is_narrowed_by_the_variables_that_there_are(dashboard: Dashboard) -> None:
    names = {variable.name for variable in dashboard.variables} | {"datasource"}
    for panel in dashboard.panels:
        for query in panel.queries:
            used = used_variables(query.expression)
            assert used <= names, panel.title
            assert "job" in used, f"{panel.title} mixes clusters"
    used = used_variables(dashboard.text())
    assert names <= used, "a variable that chooses nothing"


@each_dashboard
def test_a_legend_names_labels_that_the_query_leaves(dashboard: Dashboard) -> None:
    for panel in dashboard.panels:
        for query in panel.queries:
            kept = re.match(
                r"(?:topk\(20, |histogram_quantile\([\d.]+, )?\w+ by \(([^)]*)\)", query.expression
            )
            if kept and panel.kind == "timeseries":
                labels = {label.strip() for label in kept[1].split(",")}
                assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) == labels - {"le"}, panel.title


@each_dashboard
def test_panels_stand_side_by_side(dashboard: Dashboard) -> None:
    panels: list[dict[str, Any]] = dashboard.json()["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= COLUMNS
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        taken |= cells


def test_dashboards_are_told_apart() -> None:
    assert len({dashboard.json()["uid"] for dashboard in DASHBOARDS}) == len(DASHBOARDS)
