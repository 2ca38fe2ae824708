"""`tidelog monitoring`: files on a disk, and runbooks on the screen."""

import json
from pathlib import Path

import pytest
import yaml

from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.monitoring.alerts.catalogue import ALERTS

NAMES = sorted(alert.name for alerts in ALERTS.values() for alert in alerts)


def test_export_writes_rules_dashboards_and_runbooks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["monitoring", "export", str(tmp_path / "new")]) == Exit.OK
    assert "tidelog-alerts.yml" not in capsys.readouterr().err
    rules = yaml.safe_load((tmp_path / "new" / "prometheus" / "tidelog-alerts.yml").read_text())
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        page = tmp_path / "new" / "prometheus" / rule["annotations"]["runbook_url"]
        assert page.resolve().is_file(), "a link leads to the page beside the rules"
    boards = sorted((tmp_path / "new" / "grafana").iterdir())
    assert [path.stem for path in boards] == ["broker", "cluster", "groups", "pipelines", "queues", "topics"]
    assert all(json.loads(path.read_text())["panels"] for path in boards)


def test_links_lead_where_the_operator_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["monitoring", "export", str(tmp_path), "--runbooks", "https://wiki.example.com/t/", "--json"]
    assert run(command) == Exit.OK
    files = json.loads(capsys.readouterr().out)["files"]
    assert str(tmp_path / "prometheus" / "tidelog-alerts.yml") in files
    text = (tmp_path / "prometheus" / "tidelog-alerts.yml").read_text()
    assert "runbook_url: https://wiki.example.com/t/TidelogBrokerDown.md" in text


def test_a_directory_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prometheus").write_text("a file")
    assert run(["monitoring", "export", str(tmp_path)]) == Exit.FAILED
    assert "cannot be written" in capsys.readouterr().err


def test_runbooks_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["monitoring", "runbook"]) == Exit.OK
    assert capsys.readouterr().out.split() == NAMES
    assert run(["monitoring", "runbook", "TidelogBrokerDown"]) == Exit.OK
    assert capsys.readouterr().out.startswith("# TidelogBrokerDown\n")


def test_an_unknown_alert_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["monitoring", "runbook", "BrokerDown"]) == Exit.NOT_FOUND
    assert "tidelog monitoring runbook TidelogBrokerDown" in capsys.readouterr().err
