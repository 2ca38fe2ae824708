"""What each table format has to do, and how a batch gets into a table exactly once with it.

The table itself remembers the last batch of each query that it holds, in the same atomic commit that adds the
batch's files. So a writer looks there before it commits, and a batch that Spark runs again changes nothing.
"""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa

from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.errors import CommitConflict, LakeError
from tidelog.spark.lake.options import LakeOptions, Upsert
from tidelog.spark.lake.plan import FilePlan
from tidelog.spark.lake.storage import Storage
from tidelog.spark.lake.written_file import WrittenFile

ATTEMPTS_MAX = 10
FIRST_PAUSE_S = 0.05

Result = TypeVar("Result")


class LakeTable(ABC):
    """A table as it was when it was opened; a commit that meets a newer one raises CommitConflict."""

    data_directory = "data"

    @property
    @abstractmethod
    def storage(self) -> Storage: ...

    @property
    @abstractmethod
    def identity(self) -> str:
        """Stays the same as long as it is this table, and not another one in its place."""

    @abstractmethod
    def plan(self) -> FilePlan:
        """How tasks write files for it."""

    @abstractmethod
    def last_batch(self, query: str) -> int | None:
        """The last batch of a query that the table holds."""

    @abstractmethod
    def add(self, batch: LakeBatch, files: Sequence[WrittenFile], *, overwrite: bool) -> None:
        """Make the files part of the table and `batch` its last one of the query, in one atomic step."""

    def upsert(self, batch: LakeBatch, rows: pa.Table, upsert: Upsert) -> set[str]:
        """Put the rows in the place of those that they replace, and make `batch` the last one of the query,
        in one atomic step. The paths of the files that were written into the batch's directory for it."""
        raise LakeError("a table of this format only grows")

    def complete(self, batch: LakeBatch) -> None:
        """Completes a commit that a crash interrupted right after `add`."""
        return


def open_table(options: LakeOptions, schema: pa.Schema | None) -> LakeTable:
    """The table, made where there is none, with the columns of `schema` added; None takes it as it is."""
    opener = _opener(options.table_format)
    return retry_conflicts(lambda: opener(options, schema))


def _opener(table_format: str) -> Callable[[LakeOptions, pa.Schema | None], LakeTable]:
    # Each brings a library that takes a second or more to import.
    if table_format == "delta":
        from tidelog.spark.lake.delta import open_delta

        return open_delta
    if table_format == "iceberg":
        from tidelog.spark.lake.iceberg import open_iceberg

        return open_iceberg
    from tidelog.spark.lake.parquet import open_parquet

    return open_parquet


def commit_batch(
    reopen: Callable[[], LakeTable],
    batch: LakeBatch,
    files: Sequence[WrittenFile],
    *,
    overwrite: bool = False,
) -> bool:
    """True where the table has the files now, False where it held the batch already and has no need of them.

    LakeError where it holds a later batch: Spark repeats none but the last, so these are other records under
    an old number, and to leave them out would lose them.
    """

    def add(table: LakeTable) -> set[str] | None:
        if not files and not overwrite:
            return None
        table.add(batch, files, overwrite=overwrite)
        return {file.path for file in files}

    # After a conflict it is not sure whose batch is there: it may be ours, if a store tried twice and heard
    # only that the second time was too late.
    return commit_once(reopen, batch, add, lambda has_tried: () if has_tried else files)


def commit_once(
    reopen: Callable[[], LakeTable],
    batch: LakeBatch,
    change: Callable[[LakeTable], set[str] | None],
    unused: Callable[[bool], Sequence[WrittenFile]],
) -> bool:
    """`change` brings the batch into the table and gives the files of it that are part of the table then, or
    None where there is nothing to bring. `unused` are those that cannot be part of a table that held the
    batch already, by whether we have tried to bring it."""
    has_tried = False

    def attempt() -> bool:
        nonlocal has_tried
        table = reopen()
        last = table.last_batch(batch.query)
        if last is not None and last >= batch.number:
            _give_up(table, batch, last, unused(has_tried))
            return False
        has_tried = True
        kept = change(table)
        if kept is not None:
            table.complete(batch)
            _sweep(table, batch, kept)
        return True

    return retry_conflicts(attempt)


def _give_up(table: LakeTable, batch: LakeBatch, last: int, files: Sequence[WrittenFile]) -> None:
    """`files`: those that cannot be part of the table."""
    if last == batch.number:
        table.complete(batch)
    # Only what this attempt wrote: what else lies there may belong to the commit that was first.
    for file in files:
        table.storage.delete(file.path)
    if last > batch.number:
        raise LakeError(
            f"{batch} is to be written, but the table holds batch {last} already: the checkpoint is older"
            " than the table, or another run of the query is in progress"
        )


def _sweep(table: LakeTable, batch: LakeBatch, kept: set[str]) -> None:
    """Remove what attempts that failed or were killed have left in the directory of a batch."""
    for path in table.storage.files(f"{table.data_directory}/{batch.directory}"):
        if path not in kept:
            table.storage.delete(path)


def retry_conflicts(attempt: Callable[[], Result]) -> Result:
    """Try again on conflicts with other writers, each time on the table as they left it."""
    for number in range(ATTEMPTS_MAX):
        try:
            return attempt()
        except CommitConflict as conflict:
            last = conflict
            time.sleep(FIRST_PAUSE_S * 2**number * random.uniform(0.5, 1.0))
    raise LakeError(f"other writers were faster {ATTEMPTS_MAX} times: {last}")
