"""Every example in the docstrings of the client and of tidelog.testing runs as it stands."""

import pytest

from tests.interop.docstring_examples import DocstringExample, docstring_examples
from tidelog.testing import Broker

pytest_plugins = ["pytester"]

EXAMPLES = [example for example in docstring_examples() if not example.module.startswith("tidelog.spark")]
OF_PYTEST = [example for example in EXAMPLES if "def test_" in example.code]
OTHERS = [example for example in EXAMPLES if example not in OF_PYTEST]


def test_there_are_examples() -> None:
    names = {example.name for example in EXAMPLES}
    assert {"Producer", "Consumer.subscribe", "Admin.create_topic", "Cluster", "tidelog_broker"} <= names


@pytest.mark.parametrize("example", OTHERS, ids=lambda example: example.name)
def test_an_example_runs(
    tidelog_broker: Broker, example: DocstringExample, capsys: pytest.CaptureFixture[str]
) -> None:
    example.run(tidelog_broker.bootstrap_servers, tidelog_broker.schema_registry_url)
    assert "print(" not in example.code or capsys.readouterr().out


def test_the_examples_of_fixtures_pass(pytester: pytest.Pytester) -> None:
    for example in OF_PYTEST:
        pytester.makepyfile(**{f"test_{example.name}": example.code})
    outcome = pytester.runpytest_subprocess("-p", "no:xdist", "--strict-markers")
    outcome.assert_outcomes(passed=sum(example.code.count("def test_") for example in OF_PYTEST))
