import pyarrow as pa
import pytest

from tidelog.spark.lake.errors import SchemaMismatch
from tidelog.spark.lake.schema import added, merge, nullable, plain


def schema(**columns):
    return pa.schema(list(columns.items()))


def test_a_table_grows_at_its_end():
    merged = merge(schema(a=pa.int64()), schema(b=pa.string(), a=pa.int64()))
    assert merged.names == ["a", "b"]
    assert [field.name for field in added(schema(a=pa.int64()), merged)] == ["b"]


@pytest.mark.parametrize(
    ("table", "data"),
    [
        (pa.int64(), pa.int8()),
        (pa.float64(), pa.float32()),
        (pa.decimal128(12, 2), pa.decimal128(10, 2)),
    ],
)
def test_narrower_data_fits_and_wider_does_not(table, data):
    assert merge(schema(a=table), schema(a=data)) == schema(a=table)
    with pytest.raises(SchemaMismatch):
        merge(schema(a=data), schema(a=table))


def test_whole_numbers_do_not_become_fractions():
    with pytest.raises(SchemaMismatch, match="column a is double in the table and int64 in the data"):
        merge(schema(a=pa.float64()), schema(a=pa.int64()))


def test_the_fault_names_the_field_inside():
    of_table = schema(a=pa.list_(pa.struct([("x", pa.int64())])))
    of_data = schema(a=pa.list_(pa.struct([("x", pa.string())])))
    with pytest.raises(SchemaMismatch, match=r"column a\[\]\.x is int64"):
        merge(of_table, of_data)


def test_fields_inside_of_maps_grow():
    of_table = schema(a=pa.map_(pa.string(), pa.struct([("x", pa.int64())])))
    of_data = schema(a=pa.map_(pa.string(), pa.struct([("y", pa.string())])))
    inside = merge(of_table, of_data).field("a").type.item_type
    assert [field.name for field in inside] == ["x", "y"]


def test_names_that_differ_in_case_only_are_refused():
    with pytest.raises(SchemaMismatch, match="column Value differs from value only in case"):
        merge(schema(value=pa.int64()), schema(Value=pa.int64()))


def test_a_column_that_must_not_be_null_has_to_be_there():
    table = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    with pytest.raises(SchemaMismatch, match="column a may not be null"):
        merge(table, schema(b=pa.int64()))


def test_a_new_table_takes_null_everywhere():
    strict = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    made = nullable(pa.schema([pa.field("a", strict, nullable=False)]))
    assert made.field("a").nullable
    assert made.field("a").type[0].nullable


def test_plain_takes_one_spelling_for_each_type():
    wide = pa.schema(
        [
            ("a", pa.large_string()),
            ("b", pa.large_list(pa.field("item", pa.large_binary()))),
            ("c", pa.timestamp("ns", tz="Europe/Oslo")),
            ("d", pa.map_(pa.large_string(), pa.large_string())),
        ]
    )
    assert plain(wide) == pa.schema(
        [
            ("a", pa.string()),
            ("b", pa.list_(pa.field("element", pa.binary()))),
            ("c", pa.timestamp("us", tz="UTC")),
            ("d", pa.map_(pa.string(), pa.string())),
        ]
    )
