"""Upserts into tables: a row takes the place of the one with its key, once, whatever dies in between."""

from dataclasses import replace
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from tidelog.spark.errors import OptionError
from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.errors import CommitConflict, LakeError
from tidelog.spark.lake.options import Upsert, parse_options
from tidelog.spark.lake.task_files import TaskFiles
from tidelog.spark.lake.upserts import commit_upsert, staging_plan, table_columns, with_keys
from tidelog.spark.lake.written_file import WrittenFile

BY_ID = Upsert(("id",), deleted="gone")


class Upserts:
    """Plays the parts of Spark: tasks that write rows, and a driver that puts them into the table."""

    def __init__(self, lake: Any, upsert: Upsert = BY_ID) -> None:
        self.lake, self.upsert = lake, upsert

    def staged(self, batch: LakeBatch, *rows: dict[str, Any]) -> list[WrittenFile]:
        plan = staging_plan(self.lake.open().plan(), self.upsert)
        files = TaskFiles(plan, batch.directory, "00000-0")
        schema = self.lake.schema.append(pa.field("gone", pa.bool_()))
        some = pa.RecordBatch.from_pylist(list(rows), schema=schema)
        for checked in with_keys(iter([some]), self.upsert):
            files.write(checked)
        return files.finish()

    def commit(self, batch: LakeBatch, *rows: dict[str, Any]) -> bool:
        return commit_upsert(self.lake.open, batch, self.staged(batch, *rows), self.upsert)

    def table(self) -> dict[int, str]:
        rows = self.lake.read().to_pylist()
        assert len({row["id"] for row in rows}) == len(rows)
        return {row["id"]: row["name"] for row in rows}


def batch(number: int) -> LakeBatch:
    return LakeBatch("q", number)


def row(id: int | None, name: str, day: int | None = None, gone: bool | None = None) -> dict[str, Any]:
    return {"id": id, "name": name, "day": None if day is None else date(2024, 5, day), "gone": gone}


@pytest.fixture
def upserts(lake: Any) -> Upserts:
    return Upserts(lake)


both = pytest.mark.parametrize("lake", ["delta", "iceberg"], indirect=True)


@both
def test_rows_are_added_replaced_and_deleted(upserts: Upserts) -> None:
    assert upserts.commit(batch(0), row(1, "a"), row(2, "b"), row(3, "c", gone=True))
    assert upserts.table() == {1: "a", 2: "b"}
    assert upserts.commit(batch(1), row(2, "B"), row(4, "d", gone=False), row(1, "", gone=True))
    assert upserts.table() == {2: "B", 4: "d"}
    assert upserts.commit(batch(2), row(2, "", gone=True), row(4, "", gone=True))
    assert upserts.table() == {}
    assert "gone" not in upserts.lake.read().column_names


@both
def test_a_replayed_batch_changes_nothing(upserts: Upserts) -> None:
    upserts.commit(batch(0), row(1, "a"))
    upserts.commit(batch(1), row(1, "b"))
    files = upserts.lake.parquet_files()
    assert not upserts.commit(batch(1), row(1, "b"), row(2, "never"))
    assert upserts.table() == {1: "b"}
    assert upserts.lake.parquet_files() == files  # and no staged rows are left
    with pytest.raises(LakeError, match="the table holds batch 1 already"):
        upserts.commit(batch(0), row(1, "a"))


@both
def test_a_batch_whose_driver_died_before_the_commit_is_done_by_the_next(upserts: Upserts) -> None:
    upserts.commit(batch(0), row(1, "a"), row(2, "b"))
    upserts.staged(batch(1), row(1, "lost"))
    upserts.commit(batch(1), row(1, "b"))
    assert upserts.table() == {1: "b", 2: "b"}
    left = [path for path in upserts.lake.parquet_files() if path.parent.name == "1"]
    assert len(left) == (1 if upserts.lake.options.table_format == "iceberg" else 0)


@both
def test_a_commit_that_meets_another_is_done_on_what_that_left(
    upserts: Upserts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    upserts.commit(batch(0), row(1, "a"))
    kind = type(upserts.lake.open())
    upsert = kind.upsert

    def after_another(self: Any, *given: Any) -> set[str]:
        monkeypatch.setattr(kind, "upsert", upsert)
        Upserts(upserts.lake).commit(LakeBatch("other", 0), row(1, "theirs"), row(2, "theirs"))
        return upsert(self, *given)

    monkeypatch.setattr(kind, "upsert", after_another)
    upserts.commit(batch(1), row(1, "ours"), row(3, "ours"))
    assert upserts.table() == {1: "ours", 2: "theirs", 3: "ours"}


@both
def test_a_commit_that_succeeded_and_was_answered_with_a_conflict(
    upserts: Upserts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    kind = type(upserts.lake.open())
    upsert = kind.upsert

    def answered_with_a_conflict(self: Any, *given: Any) -> set[str]:
        upsert(self, *given)
        raise CommitConflict("another was faster")

    monkeypatch.setattr(kind, "upsert", answered_with_a_conflict)
    upserts.commit(batch(0), row(1, "a"))
    assert upserts.table() == {1: "a"}


@both
def test_an_older_row_leaves_a_newer_one_alone(upserts: Upserts) -> None:
    upserts.upsert = replace(BY_ID, order="day")
    upserts.commit(batch(0), row(1, "new", 9), row(2, "old", 1), row(3, "none"))
    upserts.commit(batch(1), row(1, "older", 8), row(2, "newer", 2), row(3, "some", 1))
    assert upserts.table() == {1: "new", 2: "newer", 3: "some"}
    upserts.commit(batch(2), row(1, "", 8, gone=True), row(2, "", 2, gone=True), row(3, "never"))
    assert upserts.table() == {1: "new", 3: "some"}


@both
def test_two_rows_of_a_key_and_a_row_without_are_refused(upserts: Upserts) -> None:
    with pytest.raises(LakeError, match="one batch has 2 rows of id 7, and no column tells which is newest"):
        upserts.commit(batch(0), row(7, "a"), row(7, "b"))
    with pytest.raises(LakeError, match="a row has null in id, which rows are upserted by"):
        upserts.commit(batch(0), row(None, "a"))


@both
def test_tables_with_partitions(lake: Any) -> None:
    upserts = Upserts(lake.with_options(partition_by=("day",)), Upsert(("id", "name")))
    upserts.commit(batch(0), row(1, "a", 1), row(2, "b", 2), row(3, "c", 2))
    upserts.commit(batch(1), row(1, "a", 2), row(3, "c", 3))
    found = {row["id"]: row["day"].day for row in lake.read().to_pylist()}
    assert found == {1: 2, 2: 2, 3: 3}


@both
def test_many_keys_in_many_files(upserts: Upserts) -> None:
    for number in range(4):
        upserts.commit(batch(number), *(row(100 * number + id, "old") for id in range(100)))
    upserts.commit(batch(4), *(row(id, "new") for id in range(50, 350)))
    found = upserts.table()
    assert len(found) == 400
    assert {id for id, name in found.items() if name == "new"} == set(range(50, 350))


def test_what_an_upsert_may_name() -> None:
    schema = pa.schema([("id", pa.int64()), ("gone", pa.bool_()), ("tags", pa.list_(pa.string()))])
    assert table_columns(schema, BY_ID).names == ["id", "tags"]
    with pytest.raises(OptionError, match="upsertBy names ID, and the columns are id, gone, tags"):
        table_columns(schema, Upsert(("ID",)))
    with pytest.raises(OptionError, match="upsertBy names tags, which is list"):
        table_columns(schema, Upsert(("tags",)))


def test_options() -> None:
    given = {"path": "/t", "upsertBy": "a, b", "txnAppId": "q", "txnVersion": "3"}
    options = parse_options(given)
    assert options.upsert == Upsert(("a", "b"))
    assert options.write_name == ("q", 3)
    with pytest.raises(OptionError, match="only grows; delta and iceberg have upserts"):
        parse_options({**given, "tableFormat": "parquet"})
    with pytest.raises(OptionError, match="go with upsertBy"):
        parse_options({"path": "/t", "upsertOrder": "a"})
    with pytest.raises(OptionError, match="must be set together"):
        parse_options({"path": "/t", "txnAppId": "a"})
