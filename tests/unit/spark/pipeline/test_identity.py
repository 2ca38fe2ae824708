"""A checkpoint belongs to one pipeline, which reads what it read before."""

from pathlib import Path

import pytest

from tidelog.spark.pipeline.identity import WrongCheckpoint, claim_directory, identity_of
from tidelog.spark.pipeline.spec import Source

ORDERS = {"orders": Source(topic="orders")}


def test_the_same_pipeline_goes_on_and_a_changed_file_is_noted(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoint"
    assert claim_directory(directory, identity_of("revenue", ORDERS, "one")) is False
    assert claim_directory(directory, identity_of("revenue", ORDERS, "one")) is False
    assert claim_directory(directory, identity_of("revenue", ORDERS, "two")) is True


def test_another_pipeline_is_refused_by_name(tmp_path: Path) -> None:
    claim_directory(tmp_path / "c", identity_of("revenue", ORDERS, ""))
    with pytest.raises(WrongCheckpoint, match="checkpoint of the pipeline 'revenue', and this is 'fraud'"):
        claim_directory(tmp_path / "c", identity_of("fraud", ORDERS, ""))


def test_other_topics_are_refused(tmp_path: Path) -> None:
    claim_directory(tmp_path / "c", identity_of("revenue", ORDERS, ""))
    with pytest.raises(WrongCheckpoint, match="read orders: orders, and now it reads orders: sales"):
        claim_directory(tmp_path / "c", identity_of("revenue", {"orders": Source(topic="sales")}, ""))


def test_files_to_join_with_may_change(tmp_path: Path) -> None:
    claim_directory(tmp_path / "c", identity_of("revenue", ORDERS, ""))
    more = {**ORDERS, "countries": Source(file="countries.csv")}
    assert claim_directory(tmp_path / "c", identity_of("revenue", more, "")) is False


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(WrongCheckpoint, match="is not empty and no checkpoint of a pipeline"):
        claim_directory(tmp_path, identity_of("revenue", ORDERS, ""))


def test_a_damaged_file_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "pipeline.json").write_text("{")
    with pytest.raises(WrongCheckpoint, match="is damaged"):
        claim_directory(tmp_path, identity_of("revenue", ORDERS, ""))


def test_a_claim_that_was_killed_half_way_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "pipeline.tmp").write_text('{"pipe')
    assert claim_directory(tmp_path, identity_of("revenue", ORDERS, "")) is False
    with pytest.raises(WrongCheckpoint):
        claim_directory(tmp_path, identity_of("fraud", ORDERS, ""))
