import pytest

from tidelog.spark.errors import OptionError
from tidelog.spark.lake.options import LakeOptions, parse_options


def test_names_are_taken_in_any_case():
    options = parse_options({"PATH": "/t/", "tableformat": "Iceberg", "PartitionBy": "a, b"})
    assert options == LakeOptions("/t", "iceberg", ("a", "b"))


def test_a_relative_path_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse_options({"path": "t"}).path == str(tmp_path / "t")
    assert parse_options({"path": "s3://bucket/t"}).path == "s3://bucket/t"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, 'option "path" is missing'),
        ({"path": "/t", "partitonBy": "a"}, "did you mean partitionBy"),
        ({"path": "/t", "colour": "red"}, "there are path, tableFormat"),
        ({"path": "/t", "tableFormat": "hudi"}, "it can be delta, iceberg, parquet"),
        ({"path": "/t", "maxFileBytes": "0"}, "number of bytes above 0"),
        ({"path": "/t", "catalog.uri": "x", "table": "a.b"}, "belongs to tableFormat iceberg"),
        ({"path": "/t", "tableFormat": "iceberg", "catalog.uri": "x"}, '"table" has to name the table'),
    ],
)
def test_what_is_wrong_is_said(given, said):
    with pytest.raises(OptionError, match=said):
        parse_options(given)


def test_what_belongs_to_the_libraries_is_handed_over():
    options = parse_options(
        {"tableFormat": "iceberg", "table": "a.b", "catalog.uri": "http://c", "storage.aws_region": "x"}
    )
    assert options.catalog == {"uri": "http://c"}
    assert options.storage == {"aws_region": "x"}


def test_what_spark_adds_is_no_mistake():
    assert parse_options({"path": "/t", "checkpointLocation": "/c"}).path == "/t"
