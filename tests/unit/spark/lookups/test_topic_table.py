"""A topic as a table: the last row of each key, however the rows are cut into batches."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidelog.spark.lookups.topic_table import latest_rows

SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("partition", pa.int32())])
Row = tuple[bytes | None, bytes | None, int]
rows = st.tuples(
    st.sampled_from([b"a", b"b", b"c", None]), st.sampled_from([b"1", b"2", None]), st.sampled_from([0, 1])
)


def as_batch(some: list[Row]) -> pa.RecordBatch:
    columns = zip(*some, strict=True) if some else ((), (), ())
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


@given(st.lists(st.lists(rows, max_size=5), max_size=8), st.integers(1, 6))
def test_as_a_dictionary_has_it(batches: list[list[Row]], rows_between: int) -> None:
    wanted = {(key, part): value for some in batches for key, value, part in some if key is not None}
    found = latest_rows(map(as_batch, batches), rows_between)
    rows = [row for batch in found for row in batch.to_pylist()]
    assert len(rows) == len(wanted)
    assert {(row["key"], row["partition"]): row["value"] for row in rows} == wanted
