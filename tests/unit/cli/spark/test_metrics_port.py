"""Where a pipeline serves its metrics: what is given wins over what its file says."""

import click
import pytest

from tidelog.cli.spark.metrics_port import MetricsAddress, address_of


def test_addresses() -> None:
    assert address_of(None, None) is None
    assert address_of(9410, None) == MetricsAddress(9410, "localhost")
    assert address_of(None, None, (9410, "0.0.0.0")) == MetricsAddress(9410, "0.0.0.0")
    assert address_of(9411, "::1", (9410, "0.0.0.0")) == MetricsAddress(9411, "::1")
    assert address_of(None, "::1", (9410, None)) == MetricsAddress(9410, "::1")
    assert address_of(0, None) == MetricsAddress(0)
    with pytest.raises(click.UsageError, match="needs --metrics-port"):
        address_of(None, "::1")
