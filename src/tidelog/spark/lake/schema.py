"""Whether the columns of the data fit the table, and what the table has to learn to make them fit.

Everything here is about Arrow schemas in one plain form (`plain`), into which both Spark's and each table
format's are brought. A table only ever grows by nullable columns; whatever else differs is refused.
"""

from collections.abc import Iterator

import pyarrow as pa

from tidelog.spark.lake.errors import SchemaMismatch

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
MICROSECONDS_UTC = pa.timestamp("us", tz="UTC")


def plain(schema: pa.Schema) -> pa.Schema:
    """One spelling for each type: 32-bit lengths, UTC microseconds, no metadata."""
    return pa.schema([_plain_field(field) for field in schema])


def nullable(schema: pa.Schema) -> pa.Schema:
    """The columns of a new table: what Spark holds for never null today may be null tomorrow."""
    return pa.schema([pa.field(field.name, _nullable_type(field.type)) for field in schema])


def merge(table: pa.Schema, data: pa.Schema, *, may_add: bool = True) -> pa.Schema:
    """The table's columns, then those that the data adds; raises with all that cannot be bridged."""
    faults = [*_names_that_differ_in_case(table, data)]
    merged = []
    for field in table:
        if field.name in data.names:
            kind, found = _merge_types(field.name, field.type, data.field(field.name).type, may_add)
            faults += found
            merged.append(field.with_type(kind))
        else:
            if not field.nullable:
                faults.append(f"column {field.name} may not be null, and the data has no such column")
            merged.append(field)
    for field in data:
        if field.name not in table.names:
            if not may_add:
                faults.append(f"column {field.name} is not in the table, and mergeSchema is false")
            merged.append(pa.field(field.name, _nullable_type(field.type)))
    if faults:
        raise SchemaMismatch("; ".join(faults))
    return pa.schema(merged)


def added(table: pa.Schema, merged: pa.Schema) -> list[pa.Field]:
    """The columns that are new, or have new fields inside."""
    return [
        field
        for field in merged
        if field.name not in table.names or table.field(field.name).type != field.type
    ]


def _merge_types(
    path: str, table: pa.DataType, data: pa.DataType, may_add: bool
) -> tuple[pa.DataType, list[str]]:
    if table == data or _widens(data, table):
        return table, []
    if pa.types.is_struct(table) and pa.types.is_struct(data):
        return _merge_structs(path, table, data, may_add)
    if pa.types.is_list(table) and pa.types.is_list(data):
        inside, faults = _merge_types(f"{path}[]", table.value_type, data.value_type, may_add)
        return pa.list_(table.value_field.with_type(inside)), faults
    if pa.types.is_map(table) and pa.types.is_map(data):
        keys, faults = _merge_types(f"{path}.key", table.key_type, data.key_type, may_add)
        items, more = _merge_types(f"{path}.value", table.item_type, data.item_type, may_add)
        return pa.map_(keys, table.item_field.with_type(items)), faults + more
    return table, [f"column {path} is {table} in the table and {data} in the data"]


def _merge_structs(
    path: str, table: pa.StructType, data: pa.StructType, may_add: bool
) -> tuple[pa.DataType, list[str]]:
    of_table, of_data = ({field.name: field for field in kind} for kind in (table, data))
    faults: list[str] = []
    merged = []
    for name, field in of_table.items():
        kind = field.type
        if name in of_data:
            kind, found = _merge_types(f"{path}.{name}", field.type, of_data[name].type, may_add)
            faults += found
        merged.append(field.with_type(kind))
    for name, field in of_data.items():
        if name not in of_table:
            if not may_add:
                faults.append(f"column {path}.{name} is not in the table, and mergeSchema is false")
            merged.append(pa.field(name, _nullable_type(field.type)))
    return pa.struct(merged), faults


def _widens(narrow: pa.DataType, wide: pa.DataType) -> bool:
    """Whether each value of the one is a value of the other."""
    if narrow in INTEGERS and wide in INTEGERS:
        return INTEGERS.index(narrow) <= INTEGERS.index(wide)
    if pa.types.is_float32(narrow) and pa.types.is_float64(wide):
        return True
    if pa.types.is_decimal(narrow) and pa.types.is_decimal(wide):
        room = (wide.precision - wide.scale) - (narrow.precision - narrow.scale)
        return bool(wide.scale >= narrow.scale and room >= 0)
    return False


def _names_that_differ_in_case(table: pa.Schema, data: pa.Schema) -> Iterator[str]:
    spelt = {name.lower(): name for name in table.names}
    for name in data.names:
        known = spelt.setdefault(name.lower(), name)
        if known != name:
            yield f"column {name} differs from {known} only in case, which readers do not tell apart"


def _plain_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _plain_type(field.type), field.nullable)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind) or kind == pa.string_view():
        return pa.string()
    if pa.types.is_large_binary(kind) or kind == pa.binary_view():
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us") if kind.tz is None else MICROSECONDS_UTC
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain_field(kind.value_field).with_name("element"))
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_field(kind.item_field).with_name("value"))
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(field) for field in kind])
    return kind


def _nullable_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, _nullable_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, pa.field(kind.item_field.name, _nullable_type(kind.item_type)))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _nullable_type(field.type)) for field in kind])
    return kind
