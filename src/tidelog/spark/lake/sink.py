"""The data source `tidelog_lake`: a table of Delta, Iceberg or plain Parquet as the target of a query or job.

Spark makes a writer twice a batch: before the tasks run, where the table is made or extended, so that a table
that cannot take the columns stops the query before any work; and again for the commit.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from tidelog.base.invariant import invariant
from tidelog.spark.errors import OptionError
from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.errors import LakeError
from tidelog.spark.lake.options import LakeOptions, parse_options
from tidelog.spark.lake.plan import FilePlan
from tidelog.spark.lake.spark_types import arrow_schema
from tidelog.spark.lake.tables import LakeTable, commit_batch, open_table
from tidelog.spark.lake.task_files import TaskFiles
from tidelog.spark.lake.upserts import commit_upsert, staging_plan, table_columns, with_keys
from tidelog.spark.lake.written_file import WrittenFile

QUERY_PROPERTY = "sql.streaming.queryId"
BATCH_PROPERTY = "streaming.sql.batchId"


@dataclass(frozen=True)
class TaskReport(WriterCommitMessage):
    batch: LakeBatch
    files: Sequence[WrittenFile]


class LakeSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "tidelog_lake"

    def writer(self, schema: StructType, overwrite: bool) -> "JobWriter":
        return JobWriter(parse_options(_plain_dict(self.options)), arrow_schema(schema), overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamWriter":
        return StreamWriter(parse_options(_plain_dict(self.options)), arrow_schema(schema), overwrite)


class JobWriter(DataSourceArrowWriter):
    """A batch job is one commit, under the name it was given or one that no other job can have."""

    def __init__(self, options: LakeOptions, schema: pa.Schema, overwrite: bool) -> None:
        self._options = options
        self._schema = schema
        self._overwrite = overwrite
        self._upsert = options.upsert
        self._batch = LakeBatch(*options.write_name or (f"job-{uuid.uuid4()}", 0))
        if self._upsert is not None:
            if overwrite:
                raise OptionError("upsertBy and the mode overwrite contradict each other")
            self._schema = table_columns(schema, self._upsert)
        self._plan = open_table(options, self._schema).plan()
        if self._upsert is not None:
            self._plan = staging_plan(self._plan, self._upsert)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        rows = iterator if self._upsert is None else with_keys(iterator, self._upsert)
        return write_task(self._plan, self._batch, rows)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        files = [file for report in _reports(messages) for file in report.files]

        def reopen() -> LakeTable:
            return open_table(self._options, self._schema)

        if self._upsert is not None:
            commit_upsert(reopen, self._batch, files, self._upsert)
        else:
            commit_batch(reopen, self._batch, files, overwrite=self._overwrite)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        abandon(self._plan, messages)


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: LakeOptions, schema: pa.Schema, overwrite: bool) -> None:
        self._options = options
        self._schema = schema
        self._overwrite = overwrite
        if options.upsert is not None or options.write_name is not None:
            raise OptionError("upsertBy and txnAppId are for batch jobs: write a stream by foreachBatch")
        self._plan = open_table(options, schema).plan()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        return write_task(self._plan, batch_of_this_task(), iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        reports = _reports(messages)
        if not reports:
            return
        batch = reports[0].batch
        invariant(
            all(report.batch == batch for report in reports) and batch.number == batchId,
            "tasks of several batches in one commit",
            batch=batch,
            expected=batchId,
        )
        files = [file for report in reports for file in report.files]
        commit_batch(lambda: open_table(self._options, self._schema), batch, files, overwrite=self._overwrite)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        abandon(self._plan, messages)


def write_task(plan: FilePlan, batch: LakeBatch, rows: Iterator[pa.RecordBatch]) -> TaskReport:
    context = TaskContext.get()
    task = f"{context.partitionId():05d}-{context.taskAttemptId()}" if context else "00000-0"
    files = TaskFiles(plan, batch.directory, task)
    try:
        for some in rows:
            files.write(some)
        return TaskReport(batch, files.finish())
    except BaseException:
        files.discard()
        raise


def abandon(plan: FilePlan, messages: list[WriterCommitMessage | None]) -> None:
    """Remove the files of tasks that were done when another failed.

    With every task done it was the commit that failed, and perhaps only its answer was lost: then the files
    may be part of the table, and stay. The next run of the batch finds out.
    """
    if None in messages:
        storage = plan.storage()
        for report in _reports(messages):
            for file in report.files:
                storage.delete(file.path)


def batch_of_this_task() -> LakeBatch:
    context = TaskContext.get()
    query = context and context.getLocalProperty(QUERY_PROPERTY)
    number = context and context.getLocalProperty(BATCH_PROPERTY)
    if not query or not number:
        raise LakeError(f"Spark did not pass the batch to the task ({QUERY_PROPERTY}, {BATCH_PROPERTY})")
    return LakeBatch(query, int(number))


def _reports(messages: list[WriterCommitMessage | None]) -> list[TaskReport]:
    return [message for message in messages if isinstance(message, TaskReport)]


def _plain_dict(options: Mapping[str, str]) -> dict[str, str]:
    return dict(options.items())
