"""The writers that Spark drives: `write` on executors, `commit` and `abort` on the driver."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from tidelog.blocking.cluster import Cluster
from tidelog.spark.errors import OptionError
from tidelog.spark.sink.nameless import abort_once, commit_once, is_nameless, new_name
from tidelog.spark.sink.options import SinkOptions, read_sink_options
from tidelog.spark.sink.schema import Shape, shape_of
from tidelog.spark.sink.task import TaskWrite, write_in_transaction, write_rows
from tidelog.spark.sink.two_phase_commit import Batch, TwoPhaseCommit

QUERY_ID, BATCH_ID, RUN_ID = "sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id"


@dataclass
class TaskReport(WriterCommitMessage):
    written: TaskWrite


Messages = Sequence[WriterCommitMessage | None]


class SinkWriter:
    """What both writers share. It is pickled on its way to the executors."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self.options: SinkOptions = read_sink_options(given)
        columns = {field.name: field.dataType.simpleString() for field in schema.fields}
        self.shape: Shape = shape_of(columns, self.options.topic, with_headers=self.options.with_headers)

    def two_phase_commit(self, cluster: Cluster) -> TwoPhaseCommit:
        return TwoPhaseCommit(cluster, self.options.two_phase_commit)

    def commit_batch(self, messages: Messages, batch: Batch | None) -> None:
        reports = written_of(messages)
        found = [one.participant for one in reports if one.participant is not None]
        has_skipped = any(one.was_decided for one in reports)
        if batch is None or not (found or has_skipped):
            return
        with Cluster(self.options.cluster) as cluster:
            if is_nameless(batch.query):
                commit_once(self.two_phase_commit(cluster), found)
            else:
                self.two_phase_commit(cluster).commit(batch, found, has_skipped=has_skipped)

    def abort_batch(self, messages: Messages, batch: Batch | None) -> None:
        found = [one.participant for one in written_of(messages) if one.participant is not None]
        if batch is None or not self.options.is_exact:
            return
        with Cluster(self.options.cluster) as cluster:
            if is_nameless(batch.query):
                abort_once(self.two_phase_commit(cluster), batch.query, found)
            else:
                self.two_phase_commit(cluster).abort(batch, found)


def written_of(messages: Messages) -> list[TaskWrite]:
    return [message.written for message in messages if isinstance(message, TaskReport)]


class BatchWriter(SinkWriter, DataSourceArrowWriter):
    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        super().__init__(given, schema)
        if overwrite:
            raise OptionError('a topic cannot be overwritten: use .mode("append")')
        name = self.options.write_name
        self.batch = Batch(new_name(), 0) if name is None else Batch(*name, may_be_passed=True)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if not self.options.is_exact:
            return TaskReport(write_rows(self.options, self.shape, iterator))
        return TaskReport(write_in_transaction(self.options, self.shape, iterator, self.batch, None))

    def commit(self, messages: Messages) -> None:
        self.commit_batch(messages, self.batch)

    def abort(self, messages: Messages) -> None:
        self.abort_batch(messages, self.batch)


class StreamWriter(SinkWriter, DataSourceStreamArrowWriter):
    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        super().__init__(given, schema)
        if self.options.write_name is not None:
            raise OptionError("txnAppId is for batch jobs; a stream has its query id and batch numbers")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if not self.options.is_exact:
            return TaskReport(write_rows(self.options, self.shape, iterator))
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY_ID)
        number = None if context is None else context.getLocalProperty(BATCH_ID)
        if context is None or query is None or number is None:
            raise OptionError(
                "Spark passed neither query nor batch to this task: exactly-once delivery needs both"
            )
        batch, run = Batch(query, int(number)), context.getLocalProperty(RUN_ID)
        return TaskReport(write_in_transaction(self.options, self.shape, iterator, batch, run))

    def commit(self, messages: Messages, batchId: int) -> None:
        self.commit_batch(messages, self._batch(messages, batchId))

    def abort(self, messages: Messages, batchId: int) -> None:
        self.abort_batch(messages, self._batch(messages, batchId))

    @staticmethod
    def _batch(messages: Messages, number: int) -> Batch | None:
        """Only tasks know the query. Where none has reported there is nothing to end either."""
        known = next((one.batch for one in written_of(messages) if one.batch is not None), None)
        return None if known is None else known._replace(number=number)
