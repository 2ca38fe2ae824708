"""Every example of docs/client.md that needs no group, and of docs/queues.md, runs on a broker of its own."""

import pytest

from tests.interop.client_examples import PAGE, Example, examples
from tidelog.testing import Broker

RUNNABLE = examples(needs_group=False)
OF_QUEUES = examples(needs_group=False, page=PAGE.with_name("queues.md"))


def test_there_are_examples() -> None:
    assert len(RUNNABLE) >= 7
    assert len(OF_QUEUES) >= 2


@pytest.mark.parametrize(
    "example", [*RUNNABLE, *OF_QUEUES], ids=lambda example: f"{example.page.stem}-line-{example.line}"
)
def test_an_example_runs(
    tidelog_broker: Broker, example: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "localhost:9092" in example.code
    example.run(tidelog_broker.bootstrap_servers, tidelog_broker.schema_registry_url)
    assert "print(" not in example.code or capsys.readouterr().out
