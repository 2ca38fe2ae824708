"""A table of each format in a directory of its own, and what a driver and its tasks do with it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.options import LakeOptions
from tidelog.spark.lake.tables import LakeTable, commit_batch, open_table
from tidelog.spark.lake.task_files import TaskFiles
from tidelog.spark.lake.written_file import WrittenFile

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("day", pa.date32())])


class Lake:
    """Plays the parts of Spark: tasks that write, a driver that commits."""

    def __init__(self, table_format: str, directory: Path) -> None:
        self.options = LakeOptions(str(directory), table_format)
        self.schema = SCHEMA
        self.directory = directory

    def with_options(self, **changes: Any) -> "Lake":
        self.options = replace(self.options, **changes)
        return self

    def open(self) -> LakeTable:
        return open_table(self.options, self.schema)

    def rows(self, *ids: int, **others: Any) -> pa.RecordBatch:
        columns: dict[str, Any] = {
            "id": list(ids),
            "name": [f"n{number}" for number in ids],
            "day": [None] * len(ids),
        }
        for name, value in others.items():
            columns[name] = [value] * len(ids)
        return pa.RecordBatch.from_pydict(columns, schema=self.schema)

    def task(self, batch: LakeBatch, *rows: pa.RecordBatch, number: int = 0) -> list[WrittenFile]:
        files = TaskFiles(self.open().plan(), batch.directory, f"{number:05d}-{number}")
        for some in rows:
            files.write(some)
        return files.finish()

    def commit(self, batch: LakeBatch, files: list[WrittenFile], overwrite: bool = False) -> bool:
        return commit_batch(self.open, batch, files, overwrite=overwrite)

    def write(self, batch: LakeBatch, *ids: int) -> bool:
        return self.commit(batch, self.task(batch, self.rows(*ids)))

    def read(self) -> pa.Table:
        return READERS[self.options.table_format](str(self.directory))

    def ids(self) -> list[int]:
        return sorted(self.read()["id"].to_pylist())

    def parquet_files(self) -> list[Path]:
        return sorted(path for path in self.directory.rglob("*") if path.suffix in {".parquet", ".staged"})


def read_delta(directory: str) -> pa.Table:
    from deltalake import DeltaTable

    return pa.table(DeltaTable(directory).to_pyarrow_table())


def read_iceberg(directory: str) -> pa.Table:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(directory).scan().to_arrow()


def read_parquet(directory: str) -> pa.Table:
    """As somebody reads it who knows nothing of Tidelog; the newest file has all columns."""
    import pyarrow.dataset as ds

    found = ds.dataset(directory, format="parquet", partitioning="hive")
    columns = pa.unify_schemas([found.schema, *(part.physical_schema for part in found.get_fragments())])
    return found.replace_schema(columns).to_table()


READERS: dict[str, Callable[[str], pa.Table]] = {
    "delta": read_delta,
    "iceberg": read_iceberg,
    "parquet": read_parquet,
}


@pytest.fixture(params=list(READERS))
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return Lake(request.param, tmp_path / "events")
