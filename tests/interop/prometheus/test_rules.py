"""Every alert under promtool: it fires when it should, not before its time, and not when it should not."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.interop.prometheus.alert_cases import CASES, Case, Series
from tidelog.monitoring.alerts.alert import Alert
from tidelog.monitoring.alerts.catalogue import ALERTS
from tidelog.monitoring.rules import rules, rules_text

ALERT = {alert.name: alert for alerts in ALERTS.values() for alert in alerts}
_MINUTES = {"m": 1, "h": 60}


@pytest.fixture(scope="module")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    return found


def minutes(hold: str) -> int:
    return int(hold[:-1]) * _MINUTES[hold[-1]]


def labels_text(alert: Alert, labels: dict[str, str]) -> str:
    everything = {
        "alertname": alert.name,
        "alertstate": "firing",
        "severity": alert.severity.value,
        **labels,
    }
    return ",".join(f'{name}="{value}"' for name, value in everything.items())


def unit_test(name: str, series: Series, checks: list[dict[str, Any]]) -> dict[str, Any]:
    inputs = [{"series": each, "values": values} for each, values in series.items()]
    return {"name": name, "interval": "1m", "input_series": inputs, "promql_expr_test": checks}


def firing(alert: Alert, at_minutes: int, *expected: str) -> dict[str, Any]:
    return {
        "expr": f'ALERTS{{alertname="{alert.name}",alertstate="firing"}}',
        "eval_time": f"{at_minutes}m",
        "exp_samples": [{"labels": f"ALERTS{{{labels}}}", "value": 1} for labels in expected],
    }


def unit_tests(case: Case) -> list[dict[str, Any]]:
    alert = ALERT[case.alert]
    loud = [firing(alert, case.at_minutes, labels_text(alert, case.labels))]
    if hold := minutes(alert.hold):
        loud.append(firing(alert, hold - 1))
    return [
        unit_test(f"{case.alert} fires", case.fires, loud),
        unit_test(f"{case.alert} stays quiet", case.stays_quiet, [firing(alert, case.at_minutes)]),
    ]


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_accepts_the_rules(promtool: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(rules_text())
    run([promtool, "check", "rules", str(rules)])


def test_alerts_fire_when_they_should(promtool: str, tmp_path: Path) -> None:
    """Each case against its own rule: promtool would evaluate all of them in each minute of each case."""
    rule = {one["alert"]: one for group in rules()["groups"] for one in group["rules"]}
    files = []
    for number, case in enumerate(CASES):
        its_rules, file = tmp_path / f"{number}-rules.yml", tmp_path / f"{number}-tests.yml"
        its_rules.write_text(yaml.safe_dump({"groups": [{"name": "alone", "rules": [rule[case.alert]]}]}))
        tests = {
            "rule_files": [its_rules.name],
            "evaluation_interval": "1m",
            "tests": unit_tests(case),
        }
        file.write_text(yaml.safe_dump(tests))
        files.append(str(file))
    run([promtool, "test", "rules", *files])


def test_every_alert_has_a_case() -> None:
    assert {case.alert for case in CASES} == set(ALERT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_an_alert_names_only_labels_that_it_has(case: Case) -> None:
    alert = ALERT[case.alert]
    text = alert.summary + alert.description
    without = set(re.findall(r"with \$labels\.(\w+)", text))
    named = set(re.findall(r"\$labels\.(\w+)", text)) - without
    assert named <= set(case.labels)
