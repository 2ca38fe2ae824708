"""The Parquet files of one task: rows go in, files come out, or none at all when the task fails.

A task holds few files open and little in memory, however many partitions its rows fall into: the file that
was written to least lately is closed when there are too many, and full row groups go to disk at once.
"""

import uuid
from collections import OrderedDict
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidelog.spark.lake.errors import SchemaMismatch
from tidelog.spark.lake.partitions import directory, split
from tidelog.spark.lake.plan import FilePlan
from tidelog.spark.lake.statistics import column_statistics
from tidelog.spark.lake.storage import Storage
from tidelog.spark.lake.written_file import WrittenFile

OPEN_FILES_MAX = 64
ROW_GROUP_ROWS = 1 << 17
ROW_GROUP_BYTES = 32 << 20
BUFFERED_BYTES_MAX = 128 << 20


class TaskFiles:
    def __init__(self, plan: FilePlan, batch_directory: str, task: str) -> None:
        self._plan = plan
        self._storage = plan.storage()
        self._directory = f"{plan.directory}/{batch_directory}"
        # No two attempts ever write the same file, so a late one cannot touch what was committed.
        self._name = f"part-{task}-{uuid.uuid4().hex[:12]}"
        self._count = 0
        self._open: OrderedDict[tuple[Any, ...], _OpenFile] = OrderedDict()
        self._done: list[WrittenFile] = []

    def write(self, batch: pa.RecordBatch) -> None:
        for values, rows in split(conform(batch, self._plan.columns), self._plan.partition_by):
            self._file_for(values).add(rows.select(self._plan.written.names))
        while sum(file.buffered_bytes for file in self._open.values()) > BUFFERED_BYTES_MAX:
            max(self._open.values(), key=lambda file: file.buffered_bytes).flush()
        for values in [
            values for values, file in self._open.items() if file.size >= self._plan.file_bytes_max
        ]:
            self._close(values)

    def finish(self) -> list[WrittenFile]:
        for values in list(self._open):
            self._close(values)
        return self._done

    def discard(self) -> None:
        """Remove all that was written. What cannot be removed is found again by its directory."""
        paths = [file.path for file in self._done] + [file.path for file in self._open.values()]
        for file in self._open.values():
            file.abandon()
        for path in paths:
            self._storage.delete(path)

    def _file_for(self, values: tuple[Any, ...]) -> "_OpenFile":
        file = self._open.get(values)
        if file is None:
            if len(self._open) == OPEN_FILES_MAX:
                self._close(next(iter(self._open)))
            file = self._open[values] = _OpenFile(self._storage, self._next_path(values), self._plan)
        self._open.move_to_end(values)
        return file

    def _next_path(self, values: tuple[Any, ...]) -> str:
        self._count += 1
        place = directory(self._plan.partition_by, values)
        name = f"{self._name}-{self._count:04d}{self._plan.suffix}"
        return "/".join(part for part in (self._directory, place, name) if part)

    def _close(self, values: tuple[Any, ...]) -> None:
        partition = dict(zip(self._plan.partition_by, values, strict=True))
        self._done.append(self._open[values].close(partition))
        del self._open[values]


class _OpenFile:
    def __init__(self, storage: Storage, path: str, plan: FilePlan) -> None:
        self.path = path
        self.buffered_bytes = 0
        self._schema = plan.written
        self._storage = storage
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0
        self._buffered_rows = 0
        self._stack = ExitStack()
        self._stream = self._stack.enter_context(storage.create(path))
        self._footer: list[pq.FileMetaData] = []
        self._writer = pq.ParquetWriter(
            self._stream, plan.written, compression=plan.compression, metadata_collector=self._footer
        )

    @property
    def size(self) -> int:
        return int(self._stream.tell())

    def add(self, rows: pa.RecordBatch) -> None:
        self._batches.append(rows)
        self._buffered_rows += rows.num_rows
        self.buffered_bytes += rows.nbytes
        if self._buffered_rows >= ROW_GROUP_ROWS or self.buffered_bytes >= ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._buffered_rows:
            self._writer.write_table(pa.Table.from_batches(self._batches), row_group_size=self._buffered_rows)
        self._rows += self._buffered_rows
        self._batches, self._buffered_rows, self.buffered_bytes = [], 0, 0

    def close(self, partition: dict[str, Any]) -> WrittenFile:
        self.flush()
        self._writer.close()
        self._stack.close()
        statistics = column_statistics(self._footer[0], self._schema)
        return WrittenFile(self.path, self._storage.size(self.path), self._rows, partition, statistics)

    def abandon(self) -> None:
        for step in (self._writer.close, self._stack.close):
            try:
                step()
            except (OSError, pa.ArrowException):
                pass  # the file is deleted next


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with the table's columns, in the table's order and types; columns that they lack are null."""
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        column = pa.nulls(batch.num_rows, field.type) if index < 0 else batch.column(index)
        if not field.nullable and column.null_count:
            raise SchemaMismatch(
                f"column {field.name} may not be null in the table, and a row has null there"
            )
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
