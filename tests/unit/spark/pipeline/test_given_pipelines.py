"""The pipelines that come with Tidelog are right: the examples, and the one that `make up` shows."""

from pathlib import Path

import pytest

from tidelog.spark.pipeline.load import load_pipeline

ROOT = Path(__file__).parents[4]
FILES = [*sorted(ROOT.glob("examples/*/pipeline.yaml")), ROOT / "src/tidelog/cli/spark/demo_pipeline.yaml"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_it_is_right(file: Path) -> None:
    assert load_pipeline(str(file)).spec is not None


def test_there_are_six_examples() -> None:
    assert len(list(ROOT.glob("examples/*/events.py"))) == 6
    assert len(FILES) == 6  # one example is in Python
