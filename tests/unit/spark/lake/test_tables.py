"""What every table format has to do, whatever dies in between: each batch is in the table once."""

from datetime import date

import pyarrow as pa
import pytest

from tidelog.spark.errors import OptionError
from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.errors import CommitConflict, LakeError, SchemaMismatch
from tidelog.spark.lake.tables import open_table

FIRST, SECOND = LakeBatch("q", 0), LakeBatch("q", 1)


def test_batches_of_several_tasks_are_in_the_table(lake):
    files = lake.task(FIRST, lake.rows(1, 2), number=0) + lake.task(FIRST, lake.rows(3), number=1)
    assert lake.commit(FIRST, files)
    assert lake.write(SECOND, 4)
    assert lake.ids() == [1, 2, 3, 4]


def test_a_replayed_batch_changes_nothing_and_leaves_no_files(lake):
    lake.write(FIRST, 1, 2)
    before = lake.parquet_files()
    assert not lake.write(FIRST, 1, 2)
    assert lake.ids() == [1, 2]
    assert lake.parquet_files() == before


def test_a_batch_older_than_the_last_is_refused(lake):
    """Of a checkpoint from a copy: its next batches have the numbers of old ones, and other records."""
    lake.write(FIRST, 1)
    lake.write(SECOND, 2)
    before = lake.parquet_files()
    with pytest.raises(
        LakeError, match=r"batch 0 of query q .* holds batch 1 already: the checkpoint is old"
    ):
        lake.write(FIRST, 3)
    assert lake.ids() == [1, 2]
    assert lake.parquet_files() == before


def test_a_commit_that_succeeded_and_was_answered_with_a_conflict_keeps_its_files(lake, monkeypatch):
    """As object stores do: the first try was lost on its way back, and the second met the first."""
    kind = type(lake.open())
    add = kind.add

    def answered_with_a_conflict(self, *given, **named):
        add(self, *given, **named)
        raise CommitConflict("another was faster")

    monkeypatch.setattr(kind, "add", answered_with_a_conflict)
    lake.write(FIRST, 1, 2)
    assert lake.ids() == [1, 2]


def test_queries_are_counted_apart(lake):
    lake.write(LakeBatch("q", 7), 1)
    assert lake.write(LakeBatch("other", 0), 2)
    assert lake.ids() == [1, 2]


def test_a_crash_right_after_the_commit_is_finished_by_the_replay(lake):
    lake.open().add(FIRST, lake.task(FIRST, lake.rows(1, 2)), overwrite=False)
    assert not lake.write(FIRST, 1, 2)
    assert lake.ids() == [1, 2]


def test_of_two_commits_of_one_batch_at_once_the_second_fails(lake):
    files, same = lake.task(FIRST, lake.rows(1)), lake.task(FIRST, lake.rows(1))
    early, late = lake.open(), lake.open()
    early.add(FIRST, files, overwrite=False)
    with pytest.raises(CommitConflict):
        late.add(FIRST, same, overwrite=False)
    lake.commit(FIRST, same)
    assert lake.ids() == [1]


def test_files_that_killed_attempts_left_go_with_the_commit(lake):
    lake.task(FIRST, lake.rows(1), number=0)
    assert len(lake.parquet_files()) == 1
    lake.write(FIRST, 1)
    assert len(lake.parquet_files()) == 1
    assert lake.ids() == [1]


def test_an_empty_batch_makes_the_table_and_no_commit(lake):
    assert lake.commit(FIRST, lake.task(FIRST))
    assert open_table(lake.options, None).last_batch("q") is None


def test_overwrite_replaces_all_rows_once(lake):
    lake.write(FIRST, 1, 2)
    files = lake.task(SECOND, lake.rows(3))
    assert lake.commit(SECOND, files, overwrite=True)
    assert not lake.commit(SECOND, lake.task(SECOND, lake.rows(3)), overwrite=True)
    assert lake.ids() == [3]


def test_overwrite_with_no_rows_empties_the_table(lake):
    lake.write(FIRST, 1)
    assert lake.commit(SECOND, [], overwrite=True)
    assert open_table(lake.options, None).last_batch("q") == 1


def test_partition_values_come_back_as_they_were(lake):
    lake.with_options(partition_by=("day", "name"))
    rows = [
        lake.rows(1, day=date(2024, 5, 1), name="a/b=c d%"),
        lake.rows(2, day=date(2024, 5, 2), name="æøå"),
        lake.rows(3, day=None, name=None),
    ]
    lake.commit(FIRST, lake.task(FIRST, pa.Table.from_batches(rows).combine_chunks().to_batches()[0]))
    found = sorted(lake.read().select(["id", "day", "name"]).to_pylist(), key=lambda row: row["id"])
    if lake.options.table_format == "parquet":  # readers of directory names take a guess at the type
        found = [row | {"day": row["day"] and date.fromisoformat(str(row["day"]))} for row in found]
    assert found == [
        {"id": 1, "day": date(2024, 5, 1), "name": "a/b=c d%"},
        {"id": 2, "day": date(2024, 5, 2), "name": "æøå"},
        {"id": 3, "day": None, "name": None},
    ]


def test_other_partitions_than_the_tables_are_refused(lake):
    lake.with_options(partition_by=("day",)).write(FIRST, 1)
    lake.with_options(partition_by=("name",))
    with pytest.raises(OptionError, match=r"partitionBy is name, and the table is partitioned by day"):
        lake.open()
    lake.with_options(partition_by=())
    assert lake.open().plan().partition_by == ("day",)


def test_new_columns_are_added_and_old_rows_have_null_there(lake):
    lake.write(FIRST, 1)
    lake.schema = lake.schema.append(pa.field("size", pa.int32()))
    lake.commit(SECOND, lake.task(SECOND, lake.rows(2, size=5)))
    found = sorted(lake.read().select(["id", "size"]).to_pylist(), key=lambda row: row["id"])
    assert found == [{"id": 1, "size": None}, {"id": 2, "size": 5}]


def test_columns_that_the_data_lacks_are_null(lake):
    lake.write(FIRST, 1)
    lake.schema = pa.schema([("id", pa.int64())])
    lake.commit(SECOND, lake.task(SECOND, pa.RecordBatch.from_pydict({"id": [2]}, schema=lake.schema)))
    assert sorted(lake.read()["name"].to_pylist(), key=str) == [None, "n1"]


def test_columns_of_another_type_are_refused_by_name(lake):
    lake.write(FIRST, 1)
    lake.schema = pa.schema([("id", pa.string()), ("name", pa.int64())])
    with pytest.raises(
        SchemaMismatch, match=r"column id is int64 in the table and string in the data; column name"
    ):
        lake.open()
    assert lake.read().num_rows == 1


def test_new_columns_are_refused_where_the_user_says_so(lake):
    lake.write(FIRST, 1)
    lake.schema = lake.schema.append(pa.field("size", pa.int32()))
    lake.with_options(merge_schema=False)
    with pytest.raises(SchemaMismatch, match="size is not in the table, and mergeSchema is false"):
        lake.open()


def test_nested_columns_keep_their_values_and_grow(lake):
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    lake.schema = pa.schema([("id", pa.int64()), ("headers", pa.list_(pa.field("element", header)))])
    one = {"id": [1], "headers": [[{"key": "a", "value": b"1"}]]}
    lake.commit(FIRST, lake.task(FIRST, pa.RecordBatch.from_pydict(one, schema=lake.schema)))
    header = pa.struct([*header, ("flag", pa.bool_())])
    lake.schema = pa.schema([("id", pa.int64()), ("headers", pa.list_(pa.field("element", header)))])
    two = {"id": [2], "headers": [[{"key": "b", "value": b"2", "flag": True}]]}
    lake.commit(SECOND, lake.task(SECOND, pa.RecordBatch.from_pydict(two, schema=lake.schema)))
    if lake.options.table_format == "parquet":  # a plain reader has to be told of fields inside of fields
        assert lake.open().plan().columns == lake.schema
        return
    found = sorted(lake.read().to_pylist(), key=lambda row: row["id"])
    assert found[1]["headers"] == [{"key": "b", "value": b"2", "flag": True}]
    assert found[0]["headers"][0]["key"] == "a"


def test_the_identity_is_the_tables_own(lake, tmp_path):
    identity = lake.open().identity
    lake.write(FIRST, 1)
    assert lake.open().identity == identity
    other = type(lake)(lake.options.table_format, tmp_path / "other")
    assert other.open().identity != identity


def test_a_table_that_is_not_there_is_not_made_for_a_look(lake):
    with pytest.raises(LakeError, match="there is no"):
        open_table(lake.options, None)
