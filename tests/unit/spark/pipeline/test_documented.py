"""docs/pipelines.md explains every key that a pipeline may have, and no other."""

import re
from pathlib import Path

import msgspec
import pytest

from tidelog.spark.pipeline.spec import Pipeline, Sink, Source, Step

PAGE = (Path(__file__).parents[4] / "docs" / "pipelines.md").read_text()


def table(head: str) -> set[str]:
    """The keys in the first column of the table that begins so."""
    rows = PAGE.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return {key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])}


@pytest.mark.parametrize(
    ("head", "kind"),
    [("at the top", Pipeline), ("of a source", Source), ("of a step", Step), ("of a sink", Sink)],
)
def test_every_key_is_explained(head: str, kind: type[msgspec.Struct]) -> None:
    assert table(head) == {field.encode_name for field in msgspec.structs.fields(kind)}
