"""Every example of docs/client.md that needs no group runs as it stands, on a broker of its own."""

import pytest

from tests.interop.client_examples import Example, examples
from tidelog.testing import Broker

RUNNABLE = examples(needs_group=False)


def test_there_are_examples() -> None:
    assert len(RUNNABLE) >= 7


@pytest.mark.parametrize("example", RUNNABLE, ids=lambda example: f"line-{example.line}")
def test_an_example_runs(
    tidelog_broker: Broker, example: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "localhost:9092" in example.code
    example.run(tidelog_broker.bootstrap_servers)
    assert "print(" not in example.code or capsys.readouterr().out
