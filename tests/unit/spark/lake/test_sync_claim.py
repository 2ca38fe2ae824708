"""A checkpoint, a topic and a table: they belong together, or the sync does not begin."""

import shutil
from dataclasses import replace

import pytest

from tidelog.spark.lake.storage import LocalStorage
from tidelog.spark.lake.sync_claim import AlreadySyncing, Claim, SyncRefused, claim, locked

WANTED = Claim("orders", "aa", "/lake/orders", "t1")


@pytest.fixture
def checkpoint(tmp_path):
    directory = tmp_path / "checkpoint"
    with locked(directory):
        yield directory


@pytest.fixture
def table(tmp_path):
    return LocalStorage(tmp_path / "table")


def test_what_was_claimed_can_be_claimed_again(checkpoint, table):
    claim(checkpoint, table, WANTED)
    (checkpoint / "table").mkdir()
    claim(checkpoint, table, WANTED)


def test_what_the_start_itself_leaves_there_is_nobody_elses(checkpoint, table):
    (checkpoint / "spark.log").touch()
    claim(checkpoint, table, WANTED)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"topic": "payments"}, "is the checkpoint of the topic orders, and not of payments"),
        ({"topic_id": "bb"}, "deleted and created again"),
        ({"table_id": "t2"}, "belongs to the table that was there before"),
        ({"table_id": "t2", "table": "/lake/other"}, "belongs to the table at /lake/orders"),
    ],
)
def test_a_checkpoint_of_another_is_refused(checkpoint, table, change, said):
    claim(checkpoint, table, WANTED)
    with pytest.raises(SyncRefused, match=said):
        claim(checkpoint, table, replace(WANTED, **change))


def test_a_second_checkpoint_for_one_table_is_refused(checkpoint, table, tmp_path):
    claim(checkpoint, table, WANTED)
    with locked(tmp_path / "other"), pytest.raises(SyncRefused, match="records would be in it twice"):
        claim(tmp_path / "other", table, WANTED)


def test_a_table_whose_checkpoint_was_lost_is_refused(checkpoint, table):
    claim(checkpoint, table, WANTED)
    shutil.rmtree(checkpoint)
    checkpoint.mkdir()
    with pytest.raises(SyncRefused, match="records would be in it twice"):
        claim(checkpoint, table, WANTED)


def test_a_crash_between_the_two_files_is_no_obstacle(checkpoint, table):
    claim(checkpoint, table, WANTED)
    table.delete("_tidelog/synced.json")
    claim(checkpoint, table, WANTED)
    assert table.exists("_tidelog/synced.json")


def test_a_directory_of_something_else_is_refused(checkpoint, table):
    (checkpoint / "offsets").mkdir()
    with pytest.raises(SyncRefused, match="is not empty, and no checkpoint of a sync"):
        claim(checkpoint, table, WANTED)


def test_two_at_once_are_refused(checkpoint):
    with pytest.raises(AlreadySyncing, match=r"process \d+ syncs"), locked(checkpoint):
        pass


def test_of_two_that_claim_a_table_at_once_the_second_is_refused(checkpoint, table, tmp_path):
    class OvertakenTable(LocalStorage):
        """The other one has claimed it between our look and our claim."""

        def read(self, path):
            found = super().read(path)
            if found is None:
                with locked(tmp_path / "other"):
                    claim(tmp_path / "other", table, WANTED)
            return found

    with pytest.raises(SyncRefused, match=r"with the checkpoint .*/other, and not with"):
        claim(checkpoint, OvertakenTable(tmp_path / "table"), WANTED)
