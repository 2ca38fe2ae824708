"""Upserts into Iceberg by copy on write: files that hold a replaced row are written anew without it.

The columns' bounds that Iceberg keeps for each file say which files need not be looked at. One file at a time
is in memory, beside the rows of the batch.
"""

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import expressions
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.options import Upsert
from tidelog.spark.lake.plan import FilePlan
from tidelog.spark.lake.task_files import TaskFiles
from tidelog.spark.lake.upserts import is_older, marked, matches
from tidelog.spark.lake.written_file import WrittenFile

VALUES_MAX = 200
"""So many values a file's bounds are compared with one by one; more only by the least and the greatest."""

_OF: Any = expressions  # whose types do not know that a column may be given by its name


class Rewrite:
    """What a batch changes: files that go, and files that come."""

    def __init__(self, table: Table, plan: FilePlan, batch: LakeBatch, upsert: Upsert) -> None:
        self._table, self._upsert = table, upsert
        self._files = TaskFiles(plan, batch.directory, f"upsert-{uuid.uuid4().hex[:8]}")
        self.replaced: list[DataFile] = []

    def take(self, rows: pa.Table) -> list[WrittenFile]:
        """The files that come. On an error none is left."""
        try:
            is_new = np.ones(rows.num_rows, bool)
            for task in self._table.scan(row_filter=key_filter(rows, self._upsert.by)).plan_files():
                self._take_from(task, rows, is_new)
            wanted = is_new & ~marked(rows, self._upsert).to_numpy()
            self._write(rows.filter(pa.array(wanted)))
            return self._files.finish()
        except BaseException:
            self._files.discard()
            raise

    def _take_from(self, task: Any, rows: pa.Table, is_new: "np.ndarray[Any, np.dtype[np.bool_]]") -> None:
        metadata = self._table.metadata
        old = ArrowScan(metadata, self._table.io, self._table.schema(), AlwaysTrue()).to_table([task])
        keys = pa.table({name: old[name].cast(rows.schema.field(name).type) for name in self._upsert.by})
        of_old, of_new = matches(keys, rows, self._upsert.by)
        if self._upsert.order:
            order = old[self._upsert.order].cast(rows.schema.field(self._upsert.order).type)
            late = is_older(order.take(of_old), rows[self._upsert.order].take(of_new))
            is_new[of_new.filter(late).to_numpy()] = False
            of_old = of_old.filter(pc.invert(late))
        if not len(of_old):
            return
        stays = np.ones(old.num_rows, bool)
        stays[of_old.to_numpy()] = False
        self.replaced.append(task.file)
        self._write(old.filter(pa.array(stays)))

    def _write(self, rows: pa.Table) -> None:
        for some in rows.to_batches():
            if some.num_rows:
                self._files.write(some)


def key_filter(rows: pa.Table, by: Sequence[str]) -> BooleanExpression:
    """True of every file that may hold one of the keys."""
    made: BooleanExpression = AlwaysTrue()
    for name in by:
        kind = rows.schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
            continue
        values = pc.unique(rows[name])
        if len(values) <= VALUES_MAX:
            made = And(made, _OF.In(name, values.to_pylist()))
        else:
            ends = pc.min_max(values).as_py()
            least = _OF.GreaterThanOrEqual(name, ends["min"])
            made = And(made, And(least, _OF.LessThanOrEqual(name, ends["max"])))
    return made
