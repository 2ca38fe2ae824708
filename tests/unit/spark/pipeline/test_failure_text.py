"""The one sentence of a failed query that a person can act on, out of pages of traces."""

from tidelog.spark.pipeline.run import failure_text


def test_a_record_that_does_not_decode() -> None:
    said = """[STREAM_FAILED] Query [id = a] terminated with exception: Job aborted due to stage failure:
Task 0 failed: SparkRuntimeException: [USER_RAISED_EXCEPTION] cannot decode orders[0] offset 7: \
not JSON of the schema: nope SQLSTATE: P0001
\tat org.apache.spark.sql.errors.X(Y.scala:1)
=== Streaming Query ===
Identifier: revenue"""
    assert failure_text(said) == "cannot decode orders[0] offset 7: not JSON of the schema: nope"


def test_an_error_of_the_source_in_python() -> None:
    said = """[STREAM_FAILED] Query [id = a] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_\
RUNTIME_ERROR] Failed when Python data source perform latestOffset: Traceback (most recent call last):
  File "x.py", line 1, in f
tidelog.spark.errors.BrokersUnreachable: no broker answers at localhost:1 for 60 s
SQLSTATE: 38000
=== Streaming Query ===
Identifier: revenue"""
    assert failure_text(said) == "no broker answers at localhost:1 for 60 s"


def test_an_error_of_the_users_own_rule() -> None:
    said = """[STREAM_FAILED] Query [id = a] terminated with exception: Traceback (most recent call last):
  File "rules.py", line 3, in handleInputRows
ZeroDivisionError: division by zero
=== Streaming Query ==="""
    assert failure_text(said) == "ZeroDivisionError: division by zero"


def test_anything_else_without_the_state_of_the_query() -> None:
    assert failure_text("Something odd.\n=== Streaming Query ===\nIdentifier: x") == "Something odd."
