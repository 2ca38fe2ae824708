"""What a Parquet file's footer says about its columns, as Delta's log tells it, so that readers skip files.

Only what every reader orders alike is told: no floating point numbers (NaN) and no long texts (cut maxima).
"""

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TEXT_CHARACTERS_MAX = 32


def column_statistics(metadata: pq.FileMetaData, schema: pa.Schema) -> dict[str, Any]:
    """minValues, maxValues and nullCount of the top-level columns that are no lists or structs."""
    lowest: dict[str, Any] = {}
    highest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    flat = {field.name for field in schema if field.type.num_fields == 0}
    for index in range(metadata.num_columns):
        name = metadata.schema.column(index).path
        if name not in flat:
            continue
        groups = [metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)]
        known = [group.statistics for group in groups if group.is_stats_set]
        if len(known) < len(groups):
            continue
        if all(statistics.has_null_count for statistics in known):
            nulls[name] = sum(statistics.null_count for statistics in known)
        kind = schema.field(name).type
        filled = [statistics for statistics in known if statistics.num_values]
        if filled and _is_ordered(kind) and all(statistics.has_min_max for statistics in filled):
            bounds = [_bound(min(s.min for s in filled)), _bound(max(s.max for s in filled))]
            if None not in bounds:
                lowest[name], highest[name] = bounds
    return {"minValues": lowest, "maxValues": highest, "nullCount": nulls}


def _is_ordered(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_signed_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_date(kind)
        or (pa.types.is_timestamp(kind) and kind.tz is not None)
    )


def _bound(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= TEXT_CHARACTERS_MAX else None
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    return value
