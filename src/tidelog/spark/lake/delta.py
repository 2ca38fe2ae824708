"""Delta tables, by the library deltalake: no JVM and no jar.

The last batch of a query is a transaction of an application (`txn` in Delta's log), whose conflicts the
library finds itself: of two commits of one batch, the second fails.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema, WriterProperties
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, CommitProperties, Transaction

from tidelog.spark.lake import schema as schemas
from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.errors import CommitConflict, LakeError
from tidelog.spark.lake.options import LakeOptions, Upsert
from tidelog.spark.lake.partitions import text
from tidelog.spark.lake.plan import FilePlan, check_partition_columns, partitions_of
from tidelog.spark.lake.storage import Storage, is_local, local_path, open_storage
from tidelog.spark.lake.tables import LakeTable
from tidelog.spark.lake.written_file import WrittenFile

_COMPRESSIONS: dict[str, Any] = {
    "zstd": "ZSTD",
    "snappy": "SNAPPY",
    "lz4": "LZ4",
    "gzip": "GZIP",
    "none": "UNCOMPRESSED",
}


class DeltaLakeTable(LakeTable):
    def __init__(self, options: LakeOptions, table: DeltaTable) -> None:
        self._options = options
        self._table = table
        self._columns = columns_of(table)
        self._partition_by = partitions_of(options, tuple(table.metadata().partition_columns))
        self._storage = open_storage(options.path, "delta", options.storage)

    @property
    def storage(self) -> Storage:
        return self._storage

    @property
    def identity(self) -> str:
        return str(self._table.metadata().id)

    def plan(self) -> FilePlan:
        kept = [field for field in self._columns if field.name not in self._partition_by]
        return FilePlan(
            location=self._options.path,
            table_format="delta",
            directory=self.data_directory,
            columns=self._columns,
            written=pa.schema(kept),
            partition_by=self._partition_by,
            compression=self._options.compression,
            file_bytes_max=self._options.file_bytes_max,
            properties=self._options.storage,
        )

    def last_batch(self, query: str) -> int | None:
        return self._table.transaction_version(application(query))

    def add(self, batch: LakeBatch, files: Sequence[WrittenFile], *, overwrite: bool) -> None:
        try:
            self._table.create_write_transaction(
                [_action(file) for file in files],
                "overwrite" if overwrite else "append",
                self._table.schema(),
                list(self._partition_by),
                commit_properties=_noting(batch),
            )
        except CommitFailedError as error:
            raise CommitConflict(str(error)) from error

    def upsert(self, batch: LakeBatch, rows: pa.Table, upsert: Upsert) -> set[str]:
        """By Delta's own MERGE. Rows that change nothing make no commit, and may come again."""
        columns = [name for name in rows.column_names if name != upsert.deleted]
        values = {_quoted(name): f"s.{_quoted(name)}" for name in columns}
        is_newer, goes, stays = "TRUE", "FALSE", "TRUE"
        if upsert.order:
            order = _quoted(upsert.order)
            is_newer = f"(t.{order} IS NULL OR s.{order} >= t.{order})"
        if upsert.deleted:
            goes = f"coalesce(s.{_quoted(upsert.deleted)}, FALSE)"
            stays = f"NOT {goes}"
        merger = self._table.merge(
            rows,
            " AND ".join(f"t.{_quoted(name)} = s.{_quoted(name)}" for name in upsert.by),
            source_alias="s",
            target_alias="t",
            writer_properties=WriterProperties(compression=_COMPRESSIONS[self._options.compression]),
            commit_properties=_noting(batch),
        )
        if upsert.deleted:
            merger = merger.when_matched_delete(f"{goes} AND {is_newer}")
        merger = merger.when_matched_update(values, f"{stays} AND {is_newer}")
        try:
            merger.when_not_matched_insert(values, stays).execute()
        except CommitFailedError as error:
            raise CommitConflict(str(error)) from error
        return set()


def open_delta(options: LakeOptions, schema: pa.Schema | None) -> DeltaLakeTable:
    try:
        table = DeltaTable(options.path, storage_options=dict(options.storage))
    except TableNotFoundError:
        if schema is None:
            raise LakeError(f"there is no Delta table at {options.path}") from None
        return DeltaLakeTable(options, _create(options, schema))
    _refuse_what_only_spark_can_write(table)
    if schema is not None:
        _extend(table, schema, options)
    return DeltaLakeTable(options, table)


def columns_of(table: DeltaTable) -> pa.Schema:
    return schemas.plain(pa.schema(table.schema().to_arrow()))


def application(query: str) -> str:
    return f"tidelog-{query}"


def _noting(batch: LakeBatch) -> CommitProperties:
    return CommitProperties(app_transactions=[Transaction(application(batch.query), batch.number)])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _create(options: LakeOptions, schema: pa.Schema) -> DeltaTable:
    check_partition_columns(schema, options.partition_by)
    if is_local(options.path):
        local_path(options.path).mkdir(parents=True, exist_ok=True)
    try:
        return DeltaTable.create(
            options.path,
            schemas.nullable(schema),
            partition_by=list(options.partition_by),
            storage_options=dict(options.storage),
        )
    except DeltaError as error:
        if DeltaTable.is_deltatable(options.path, dict(options.storage)):  # another was faster
            raise CommitConflict(str(error)) from error
        raise


def _extend(table: DeltaTable, schema: pa.Schema, options: LakeOptions) -> None:
    columns = columns_of(table)
    merged = schemas.merge(columns, schema, may_add=options.merge_schema)
    new = schemas.added(columns, merged)
    if not new:
        return
    try:
        table.alter.add_columns(Schema.from_arrow(pa.schema(new)).fields)
    except CommitFailedError as error:
        raise CommitConflict(str(error)) from error


def _refuse_what_only_spark_can_write(table: DeltaTable) -> None:
    settings = table.metadata().configuration
    if settings.get("delta.columnMapping.mode", "none") != "none":
        raise LakeError(
            "the Delta table maps its columns to other names (delta.columnMapping.mode), which is refused"
        )
    rules = [name for name in settings if name.startswith("delta.constraints.")]
    generated = [
        field.name
        for field in table.schema().fields
        if any(
            name.startswith(("delta.generation", "delta.invariants", "delta.identity"))
            for name in field.metadata
        )
    ]
    if rules or generated:
        raise LakeError(
            f"the Delta table checks or computes values ({', '.join(rules + generated)}),"
            " which this writer would not"
        )


def _action(file: WrittenFile) -> AddAction:
    return AddAction(
        path=file.path,
        size=file.size,
        partition_values={name: text(value) for name, value in file.partition.items()},
        modification_time=int(time.time() * 1000),
        data_change=True,
        stats=json.dumps({"numRecords": file.rows, **file.statistics}),
    )
