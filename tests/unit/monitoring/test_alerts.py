"""The alerts name metrics and labels that exist, and the files of rules are what the code makes of them."""

import re

import pytest

from tests.rigs.promql import faults
from tidelog.monitoring.alerts.alert import Alert
from tidelog.monitoring.alerts.catalogue import ALERTS
from tools import monitoring_files
from tools.pages import stale_pages

ALL = [alert for alerts in ALERTS.values() for alert in alerts]
each_alert = pytest.mark.parametrize("alert", ALL, ids=lambda alert: alert.name)


@each_alert
def test_metrics_and_labels_are_in_the_table(alert: Alert) -> None:
    assert list(faults(alert.expression)) == []


@each_alert
def test_an_alert_says_which_cluster_and_ends_its_sentences(alert: Alert) -> None:
    assert re.fullmatch(r"Tidelog([A-Z][a-z]+)+", alert.name)
    assert alert.description.endswith(".")
    assert not alert.summary.endswith(".")
    assert "{{ $labels." in alert.summary


def test_names_are_unique() -> None:
    names = [alert.name for alert in ALL]
    assert len(names) == len(set(names))


def test_the_files_are_fresh() -> None:
    assert not stale_pages(monitoring_files.PAGES), "run: make docs"


def test_a_wrong_name_or_label_is_noticed() -> None:
    assert list(faults("rate(tidelog_nonsense_total[5m])")) == [
        "tidelog_nonsense_total is not in the table of metrics"
    ]
    assert list(faults('tidelog_leaders{topic="a"}')) == ["tidelog_leaders has no label topic"]
    assert list(faults("sum by (topic) (tidelog_leaders)")) == ["no metric here has the label topic"]
    assert list(faults("tidelog_request_seconds > 1")) != [], "a histogram has no series of its own name"
