"""Settings of client metrics subscriptions: what a match may be, and what stored texts mean."""

import pytest

from tidelog.base.client_metrics_settings import ClientMetricsConfig, parse_match


@pytest.mark.parametrize(
    "pair",
    [
        "client_id",
        "client_id=",
        "=x",
        "host=x",
        "client_id=a=b",
        "client_id=(",
        "client_id=(?=a)",
        "client_id=a{2000}",
    ],
)
def test_what_is_no_match(pair: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        parse_match((pair,))


def test_what_another_version_stored_counts_as_not_set() -> None:
    config = ClientMetricsConfig.of({"metrics": "a, b", "interval.ms": "soon", "match": "?", "other": "x"})
    assert config == ClientMetricsConfig(("a", "b"), 300_000, {})
