"""Schemas in the words of SQL, checked without Spark: a type that is none is named, and the nearest one."""

import pytest

from tidelog.spark.values.ddl import check_ddl
from tidelog.spark.values.errors import BadSchema

GOOD = [
    "id STRING NOT NULL, country STRING, cents BIGINT, at TIMESTAMP",
    "id string, amount decimal(10, 2) COMMENT 'in euro, (net)', n int",
    "a: INT, b: STRUCT<c: ARRAY<STRING>, `d e`: MAP<STRING, DOUBLE>>, e INTERVAL DAY TO SECOND",
    "struct<a: int, b: struct<>>",
    "`odd ``name`: TIMESTAMP_NTZ, b VARCHAR(5) DEFAULT coalesce(1, 2), c STRING COLLATE UTF8_LCASE",
]
BAD = {
    "id STRNG": "field id: 'STRNG' is no type of Spark; did you mean 'STRING'?",
    "id STRING, at TIMESTMP NOT NULL": "field at: 'TIMESTMP' is no type of Spark; did you mean 'TIMESTAMP'?",
    "id": "field id has no type at its end",
    "id STRING,": "the name of a field is missing at its end",
    "id STRING, , b INT": "the name of a field is missing before ','",
    "": "the name of a field is missing",
    "a STRUCT<b: INTT>": "field a.b: 'INTT' is no type of Spark; did you mean 'INT'?",
    "a ARRAY<INT": "field a: a '>' is missing",
    "a ARRAY": "field a: ARRAY says in brackets what is in it, such as ARRAY<STRING>",
    "a MAP<STRING>": "field a: a MAP has two types",
    "a INT>": "the schema has a '>' that nothing opens",
    "a DECIMAL(10": "field a: a ')' is missing",
    "a xyzzy": "field a: 'xyzzy' is no type of Spark; STRING, BIGINT, DOUBLE and TIMESTAMP are some",
    "a " + "ARRAY<" * 200: "field a is nested too deep",
}


@pytest.mark.parametrize("text", GOOD)
def test_good_ones(text: str) -> None:
    check_ddl(text)


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:30])
def test_bad_ones(text: str) -> None:
    with pytest.raises(BadSchema) as refusal:
        check_ddl(text)
    assert BAD[text] in str(refusal.value)
