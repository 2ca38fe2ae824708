"""Upserts: the rows of a batch, written by tasks as files of their own, and put into the table by the driver.

Tasks cannot know which rows of the table theirs replace. Their files only bring the rows to the driver, and
are gone after the commit; what the table remembers of batches makes a repeated one change nothing.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidelog.spark.errors import OptionError
from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.errors import LakeError
from tidelog.spark.lake.options import Upsert
from tidelog.spark.lake.plan import FilePlan
from tidelog.spark.lake.storage import Storage
from tidelog.spark.lake.tables import LakeTable, commit_once
from tidelog.spark.lake.written_file import WrittenFile


def table_columns(schema: pa.Schema, upsert: Upsert) -> pa.Schema:
    """The columns that the table gets. Raises OptionError where the upsert names a missing column."""
    for option, names in {
        "upsertBy": upsert.by,
        "upsertOrder": (upsert.order,) if upsert.order else (),
        "upsertDelete": (upsert.deleted,) if upsert.deleted else (),
    }.items():
        for name in names:
            if name not in schema.names:
                raise OptionError(f"{option} names {name}, and the columns are {', '.join(schema.names)}")
    for name in upsert.by:
        if pa.types.is_nested(schema.field(name).type) or pa.types.is_floating(schema.field(name).type):
            raise OptionError(f"upsertBy names {name}, which is {schema.field(name).type}; that is no key")
    return pa.schema([field for field in schema if field.name != upsert.deleted])


def staging_plan(plan: FilePlan, upsert: Upsert) -> FilePlan:
    """Files of all the table's columns and the mark of deletion, kept apart by nothing."""
    columns = plan.columns
    if upsert.deleted:
        columns = columns.append(pa.field(upsert.deleted, pa.bool_()))
    return replace(plan, columns=columns, written=columns, partition_by=())


def with_keys(rows: Iterator[pa.RecordBatch], upsert: Upsert) -> Iterator[pa.RecordBatch]:
    """LakeError at a row that has no key: it could replace nothing, and be replaced by nothing."""
    for some in rows:
        for name in upsert.by:
            if some.column(name).null_count:
                raise LakeError(f"a row has null in {name}, which rows are upserted by")
        yield some


def commit_upsert(
    reopen: Callable[[], LakeTable], batch: LakeBatch, staged: Sequence[WrittenFile], upsert: Upsert
) -> bool:
    """True where the table has the rows now, False where it held the batch already."""

    def change(table: LakeTable) -> set[str] | None:
        rows = _rows(table.storage, staged)
        if rows is None:
            return None
        refuse_twins(rows, upsert)
        return table.upsert(batch, rows, upsert)

    return commit_once(reopen, batch, change, lambda has_tried: staged)


def _rows(storage: Storage, staged: Sequence[WrittenFile]) -> pa.Table | None:
    parts = [pq.read_table(io.BytesIO(storage.read(file.path) or b"")) for file in staged]
    return pa.concat_tables(parts) if parts else None


def refuse_twins(rows: pa.Table, upsert: Upsert) -> None:
    counted = rows.select(list(upsert.by)).group_by(list(upsert.by)).aggregate([([], "count_all")])
    twins = counted.filter(pc.greater(counted["count_all"], 1))
    if twins.num_rows:
        place = ", ".join(f"{name} {twins[name][0]}" for name in upsert.by)
        raise LakeError(
            f"one batch has {twins['count_all'][0]} rows of {place}, and no column tells which is newest;"
            " name one with: order"
        )


def marked(rows: pa.Table, upsert: Upsert) -> pa.ChunkedArray:
    """True where the row is to go."""
    if not upsert.deleted:
        return pa.chunked_array([pa.repeat(pa.scalar(False), rows.num_rows)])
    return pc.fill_null(rows[upsert.deleted], False)


def matches(old: pa.Table, new: pa.Table, by: Sequence[str]) -> tuple[pa.Array, pa.Array]:
    """The numbers of the rows that have the same key, in pairs."""
    numbered = [
        rows.select(list(by)).append_column(name, pa.array(range(rows.num_rows), pa.int64()))
        for rows, name in ((old, "__old"), (new, "__new"))
    ]
    both = numbered[0].join(numbered[1], list(by), join_type="inner")
    return both["__old"].combine_chunks(), both["__new"].combine_chunks()


def is_older(old: pa.Array, new: pa.Array) -> pa.Array:
    """Whether the new one is older than the one it would replace, by the values of the order column. What
    says nothing is older than what says something."""
    both = pc.and_kleene(pc.is_valid(old), pc.is_null(new))
    return pc.or_kleene(both, pc.fill_null(pc.less(new, old), False))
