"""The dashboards are what Grafana's own schema knows: read by its SDK and written again, nothing is lost.

The SDK has a class for each part, down to the options of a panel; a field that Grafana does not have is lost.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard as GrafanaDashboard

from tidelog.monitoring.dashboards.catalogue import CLUSTER, DASHBOARDS
from tidelog.monitoring.dashboards.dashboard import Dashboard

plugins.register_default_plugins()


def as_grafana_reads_it(dashboard: dict[str, Any]) -> Any:
    return json.loads(JSONEncoder().encode(GrafanaDashboard.from_json(copy.deepcopy(dashboard))))


def losses(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            if name in theirs:
                yield from losses(value, theirs[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (value, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from losses(value, other, f"{path}[{index}]")
    elif ours != theirs:
        yield path


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.name)
def test_grafana_knows_every_field(dashboard: Dashboard) -> None:
    ours = dashboard.json()
    assert list(losses(ours, as_grafana_reads_it(ours))) == []


def test_a_field_that_grafana_does_not_have_is_noticed() -> None:
    wrong = copy.deepcopy(CLUSTER.json())
    wrong["panels"][1]["options"]["colourMode"] = "background"
    wrong["panels"][1]["fieldConfig"]["defaults"]["units"] = "bytes"
    assert list(losses(wrong, as_grafana_reads_it(wrong))) == [
        ".panels[1].fieldConfig.defaults.units",
        ".panels[1].options.colourMode",
    ]
