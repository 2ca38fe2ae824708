from collections import defaultdict
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.spark.lake.partitions import directory, split, text

VALUES = st.tuples(st.sampled_from(["a", "b", "", None]), st.sampled_from([1, 2, None]))


@given(st.lists(VALUES, max_size=40))
@settings(max_examples=50)
def test_rows_are_apart_as_a_dictionary_would_hold_them(rows):
    obvious = defaultdict(list)
    for number, values in enumerate(rows):
        obvious[values].append(number)
    batch = pa.RecordBatch.from_pydict(
        {"x": [row[0] for row in rows], "y": [row[1] for row in rows], "n": range(len(rows))},
        schema=pa.schema([("x", pa.string()), ("y", pa.int32()), ("n", pa.int64())]),
    )
    assert {values: some["n"].to_pylist() for values, some in split(batch, ["x", "y"])} == obvious


def test_no_columns_no_parts():
    batch = pa.RecordBatch.from_pydict({"n": [1]})
    assert list(split(batch, [])) == [((), batch)]


@pytest.mark.parametrize(
    ("value", "spelt"),
    [(None, None), ("", None), (True, "true"), (7, "7"), (date(2024, 5, 1), "2024-05-01"), ("å/b", "å/b")],
)
def test_values_in_the_log(value, spelt):
    assert text(value) == spelt


def test_values_in_directory_names():
    assert directory(["day", "who"], [date(2024, 5, 1), "a/b=c"]) == "day=2024-05-01/who=a%2Fb%3Dc"
    assert directory(["who"], [None]) == "who=__HIVE_DEFAULT_PARTITION__"
    assert directory([], []) == ""
