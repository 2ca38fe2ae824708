"""Files of one task: sizes, limits, statistics, and nothing left behind by a failure."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidelog.spark.lake import task_files
from tidelog.spark.lake.errors import SchemaMismatch
from tidelog.spark.lake.plan import FilePlan
from tidelog.spark.lake.task_files import TaskFiles, conform

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us", tz="UTC"))])


def plan(directory, **changes):
    given = {"columns": SCHEMA, "written": SCHEMA, **changes}
    return FilePlan(str(directory), "parquet", "data", **given)


def rows(*ids, name="n"):
    at = [datetime(2024, 5, 1, 0, 0, number, tzinfo=UTC) for number in range(len(ids))]
    return pa.RecordBatch.from_pydict({"id": ids, "name": [name] * len(ids), "at": at}, schema=SCHEMA)


def test_batches_become_one_file_with_its_facts(tmp_path):
    files = TaskFiles(plan(tmp_path), "q/0", "00000-1")
    files.write(rows(3, 1))
    files.write(rows(2))
    (file,) = files.finish()
    assert pq.read_table(tmp_path / file.path)["id"].to_pylist() == [3, 1, 2]
    assert (file.rows, file.size) == (3, (tmp_path / file.path).stat().st_size)
    assert file.statistics["minValues"] == {"id": 1, "name": "n", "at": "2024-05-01T00:00:00.000000Z"}
    assert file.statistics["maxValues"]["id"] == 3
    assert file.statistics["nullCount"] == {"id": 0, "name": 0, "at": 0}
    json.dumps(file.statistics)


def test_long_texts_have_no_bounds(tmp_path):
    files = TaskFiles(plan(tmp_path), "q/0", "00000-1")
    files.write(rows(1, name="x" * 100))
    (file,) = files.finish()
    assert "name" not in file.statistics["maxValues"]


def test_a_file_that_is_large_enough_is_followed_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr(task_files, "ROW_GROUP_ROWS", 1)
    files = TaskFiles(plan(tmp_path, file_bytes_max=100), "q/0", "00000-1")
    for number in range(3):
        files.write(rows(number))
    assert len(files.finish()) == 3


def test_few_files_are_open_however_many_partitions(tmp_path, monkeypatch):
    monkeypatch.setattr(task_files, "OPEN_FILES_MAX", 2)
    apart = plan(
        tmp_path, partition_by=("id",), written=pa.schema([SCHEMA.field("name"), SCHEMA.field("at")])
    )
    files = TaskFiles(apart, "q/0", "00000-1")
    for ids in ([1, 2], [3, 1], [2, 3]):
        files.write(rows(*ids))
    done = files.finish()
    assert sum(file.rows for file in done) == 6
    assert {file.partition["id"] for file in done} == {1, 2, 3}
    assert len({file.path for file in done}) == len(done) > 3


def test_little_is_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(task_files, "BUFFERED_BYTES_MAX", 1)
    files = TaskFiles(plan(tmp_path), "q/0", "00000-1")
    files.write(rows(1))
    files.write(rows(2))
    (file,) = files.finish()
    assert pq.ParquetFile(tmp_path / file.path).num_row_groups == 2


def test_a_task_that_fails_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(task_files, "OPEN_FILES_MAX", 1)
    apart = plan(tmp_path, partition_by=("id",), written=pa.schema([SCHEMA.field("name")]))
    files = TaskFiles(apart, "q/0", "00000-1")
    files.write(rows(1, 2))
    files.discard()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_two_attempts_never_share_a_name(tmp_path):
    names = set()
    for _ in range(2):
        files = TaskFiles(plan(tmp_path), "q/0", "00000-1")
        files.write(rows(1))
        names.update(file.path for file in files.finish())
    assert len(names) == 2


def test_rows_take_the_form_of_the_table():
    given = pa.RecordBatch.from_pydict({"name": ["a"], "id": pa.array([1], pa.int32())})
    assert conform(given, SCHEMA).to_pylist() == [{"id": 1, "name": "a", "at": None}]


def test_null_where_the_table_has_none_is_refused():
    strict = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    with pytest.raises(SchemaMismatch, match="column id may not be null"):
        conform(pa.RecordBatch.from_pydict({"id": pa.array([None], pa.int64())}), strict)
