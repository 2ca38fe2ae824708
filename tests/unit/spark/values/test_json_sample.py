"""A schema from sample documents."""

import pytest

from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.json_sample import schema_of_samples


def test_types_are_those_that_hold_every_document() -> None:
    first = '{"id": "a", "n": 1, "at": "2026-01-01T00:00:00Z", "tags": ["x"]}'
    text = first + '\n{"n": 1.5, "in": {"ok": true}}\n'
    assert schema_of_samples(text) == (
        "id STRING, n DOUBLE, at TIMESTAMP, tags ARRAY<STRING>, in STRUCT<ok: BOOLEAN>"
    )


def test_a_time_that_is_none_in_another_document_is_text() -> None:
    assert schema_of_samples('[{"at": "2026-01-01T00:00:00Z"}, {"at": "soon"}]') == "at STRING"


def test_odd_names_are_quoted_and_unknown_types_are_text() -> None:
    assert schema_of_samples('{"a b": null, "c`d": []}') == "`a b` STRING, `c``d` ARRAY<STRING>"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no JSON document"),
        ("{", "is not JSON"),
        ("[1]", "each document has to be an object"),
        ("{}", "have no fields"),
        ('{"a": 1}\n{"a": {}}', "a is BIGINT here and STRUCT<> there"),
    ],
)
def test_what_gives_no_schema_is_said(text: str, said: str) -> None:
    with pytest.raises(BadSchema, match=said):
        schema_of_samples(text)
