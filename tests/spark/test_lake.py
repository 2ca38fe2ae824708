"""Lake tables through crashes: whatever dies around a commit, each row is in the table once."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from tests.rigs.repository import ROOT
from tests.spark import dying_lake
from tidelog.spark.lake.options import parse_options
from tidelog.spark.lake.tables import open_table

pytestmark = pytest.mark.timeout(600)

FORMATS = ("delta", "iceberg", "parquet")
ROWS = 40


@pytest.fixture(scope="module")
def formats(spark):
    dying_lake.register(spark)
    return spark


class Stream:
    """A query from JSON files into a table, as often as it is run."""

    def __init__(self, spark: Any, directory: Path, table_format: str) -> None:
        self.spark = spark
        self.inputs = directory / "in"
        self.inputs.mkdir()
        self.table = directory / "table"
        self.checkpoint = directory / "checkpoint"
        self.table_format = table_format
        self.count = 0

    def feed(self, rows: int = ROWS) -> None:
        lines = [
            json.dumps({"id": self.count + number, "name": f"n{number}", "day": f"2024-05-0{1 + number % 2}"})
            for number in range(rows)
        ]
        hidden = self.inputs / f".{self.count}"
        hidden.write_text("\n".join(lines))
        hidden.rename(self.inputs / f"{self.count:06d}.json")
        self.count += rows

    def run(self, sink: str = "tidelog_lake", change: Any = None, **options: str) -> None:
        frame = dying_lake.rows_of(self.spark, str(self.inputs)).repartition(2)
        frame = frame if change is None else change(frame)
        writer = frame.writeStream.format(sink).option("path", str(self.table))
        writer = (
            writer.option("tableFormat", self.table_format).option("partitionBy", "day").options(**options)
        )
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()

    def forget_last_commit(self) -> None:
        """As if Spark had died before it noted that the batch is done."""
        last = max((self.checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        (last.parent / f".{last.name}.crc").unlink(missing_ok=True)

    def read(self) -> pa.Table:
        return read(self.table, self.table_format)

    def ids(self) -> list[int]:
        return sorted(self.read()["id"].to_pylist())

    def files_on_disk(self) -> int:
        return sum(path.suffix in {".parquet", ".staged"} for path in self.table.rglob("*"))

    def files_in_table(self) -> int:
        if self.table_format == "delta":
            from deltalake import DeltaTable

            return len(DeltaTable(str(self.table)).file_uris())
        if self.table_format == "iceberg":
            from pyiceberg.table import StaticTable

            return len(list(StaticTable.from_metadata(str(self.table)).scan().plan_files()))
        return len(list(self.table.glob("day=*/*.parquet")))


def read(table: Path, table_format: str) -> pa.Table:
    """By the libraries that others would use, none of ours."""
    if table_format == "delta":
        from deltalake import DeltaTable

        return pa.table(DeltaTable(str(table)).to_pyarrow_table())
    if table_format == "iceberg":
        from pyiceberg.table import StaticTable

        return StaticTable.from_metadata(str(table)).scan().to_arrow()
    import pyarrow.dataset as ds

    return ds.dataset(str(table), partitioning="hive").to_table()


@pytest.fixture(params=FORMATS)
def stream(request, formats, tmp_path) -> Stream:
    return Stream(formats, tmp_path, request.param)


def test_each_row_is_there_once_through_restarts_replays_and_deaths(stream):
    stream.feed()
    with pytest.raises(StreamingQueryException):
        stream.run(dying_lake.BEFORE)
    assert stream.files_in_table() == 0  # the tasks were done, the commit never began
    with pytest.raises(StreamingQueryException):
        stream.run(dying_lake.AFTER)
    assert stream.ids() == list(range(stream.count))  # the table has the batch, Spark does not know it
    stream.run()
    assert stream.ids() == list(range(stream.count))
    stream.feed()
    stream.run()
    stream.forget_last_commit()
    stream.run()
    assert stream.ids() == list(range(stream.count))
    assert stream.files_on_disk() == stream.files_in_table()


def test_a_task_that_fails_leaves_no_files_and_no_rows(formats, tmp_path):
    stream = Stream(formats, tmp_path, "delta")
    marker = str(tmp_path / "failed")

    def fail_once(frame):
        def some(batches):
            import os

            yield from batches
            if not os.path.exists(marker):
                open(marker, "w").close()
                raise RuntimeError("a task fails after its rows")

        return frame.mapInArrow(some, frame.schema)

    stream.feed()
    with pytest.raises(Exception, match="a task fails after its rows"):
        stream.run(change=fail_once)
    assert stream.files_in_table() == 0
    stream.run(change=fail_once)
    assert stream.ids() == list(range(stream.count))
    assert stream.files_on_disk() == stream.files_in_table()


def test_new_columns_are_added_and_others_refused_with_a_reason(formats, tmp_path):
    stream = Stream(formats, tmp_path, "iceberg")
    stream.feed()
    stream.run()
    stream.feed()
    stream.run(change=lambda frame: frame.selectExpr("*", "id * 2 AS twice"))
    found = {row["id"]: row["twice"] for row in stream.read().to_pylist()}
    assert found[0] is None
    assert found[ROWS + 1] == 2 * (ROWS + 1)
    stream.feed()
    with pytest.raises(Exception, match="column id is int64 in the table and string in the data"):
        stream.run(change=lambda frame: frame.selectExpr("CAST(id AS STRING) AS id", "name", "day"))


def test_batch_jobs_append_and_overwrite(formats, tmp_path):
    table = str(tmp_path / "table")
    for mode, rows, total in (("append", 10, 10), ("append", 5, 15), ("overwrite", 3, 3)):
        frame = formats.range(rows).selectExpr(
            "id", "TIMESTAMP '2024-05-01 12:00:00' AS at", "array(id) AS ids"
        )
        frame.write.format("tidelog_lake").mode(mode).option("tableFormat", "parquet").save(table)
        assert read(Path(table), "parquet").num_rows == total
    assert sorted(row.id for row in formats.read.parquet(table).collect()) == [0, 1, 2]


def test_an_option_that_is_misspelt_is_named(formats, tmp_path):
    with pytest.raises(Exception, match="did you mean partitionBy"):
        formats.range(1).write.format("tidelog_lake").option("partitonBy", "id").mode("append").save(
            str(tmp_path)
        )


def test_the_whole_jvm_is_killed_between_the_tables_commit_and_sparks(formats, tmp_path):
    stream = Stream(formats, tmp_path, "delta")
    stream.feed()
    stream.feed()
    command = [
        sys.executable,
        "-m",
        dying_lake.__name__,
        *map(str, (stream.inputs, stream.table, stream.checkpoint)),
    ]
    died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert died.returncode != 0
    table = open_table(parse_options({"path": str(stream.table)}), None)
    assert table.plan().columns.names == ["id", "name", "day"], died.stderr[-2000:]
    assert len(stream.ids()) == ROWS
    assert not list((stream.checkpoint / "commits").glob("[0-9]*"))
    query = dying_lake.rows_of(formats, str(stream.inputs)).writeStream.format("tidelog_lake")
    query = query.option("path", str(stream.table)).option("checkpointLocation", str(stream.checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()
    assert stream.ids() == list(range(stream.count))
    assert stream.files_on_disk() == stream.files_in_table()
