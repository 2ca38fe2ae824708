"""A file to join streams with that is read again when it changes: `format("tidelog_lookup")`.

The file is read by the one task that reads it, at each micro-batch, from a copy that was whole when it was
taken. A batch under way keeps what it has; a version that cannot be read (half written, without a column) is
passed over, and the one before goes on to be used.
"""

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tidelog.spark.engine.scripts import cache_directory
from tidelog.spark.lookups.files import BadLookup, read_lookup

RUN = "run"
"""An option: what keeps the copies of one run apart from those of others."""
STABLE_AFTER_S = 0.5
"""A file that changed later than this may be in the midst of being written."""

_log = logging.getLogger("tidelog.spark")
_tables: dict[str, tuple[str, pa.Table]] = {}
"""In a worker, by lookup: the version that was parsed last. A pipeline has few."""


class LookupFile:
    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        options: Mapping[str, str],
        directory: Path | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path, self._schema, self._options, self._now = path, schema, options, now
        named = json.dumps([str(path), str(schema), sorted(options.items())])
        self._id = hashlib.sha256(named.encode()).hexdigest()[:32]
        self._copy = (directory or cache_directory() / "lookups") / self._id

    def table(self) -> pa.Table:
        """The newest version that can be read. BadLookup where there never was one."""
        try:
            stamp, age_s = self._stamp()
        except OSError as error:
            return self._before(f"cannot read {self._path}: {error.strerror}")
        kept = self._kept()
        if kept is not None and (kept[0] == stamp or age_s < STABLE_AFTER_S):
            return self._parsed(*kept)
        try:
            return self.renewed()
        except BadLookup as error:
            return self._before(str(error))

    def complaint(self) -> str | None:
        """Why the file as it is now is not what is used; None where it is, or will be in a moment."""
        try:
            stamp, age_s = self._stamp()
            kept = self._kept()
            if kept is None or (kept[0] != stamp and age_s >= STABLE_AFTER_S):
                self.renewed()
        except OSError as error:
            return f"cannot read {self._path}: {error.strerror}"
        except BadLookup as error:
            return str(error)
        return None

    def renewed(self) -> pa.Table:
        """The file as it is now, of which a copy is kept. BadLookup where it cannot be used."""
        stamp, data = self._read()
        table = self._parsed(stamp, data)
        self._copy.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._copy.with_name(f"{self._id}.{os.getpid()}")
        fresh.write_bytes(stamp.encode() + b"\n" + data)
        fresh.replace(self._copy)
        return table

    def forget(self) -> None:
        """When nothing reads it any more."""
        self._copy.unlink(missing_ok=True)

    def _read(self) -> tuple[str, bytes]:
        try:
            before, _ = self._stamp()
            data = self._path.read_bytes()
            after, _ = self._stamp()
        except OSError as error:
            raise BadLookup(f"cannot read {self._path}: {error.strerror}") from error
        if before != after:
            raise BadLookup(f"{self._path} is being written")
        return before, data

    def _before(self, why: str) -> pa.Table:
        kept = self._kept()
        if kept is None:
            raise BadLookup(why)
        _log.warning("%s; the previous version stays in use", why)
        return self._parsed(*kept)

    def _parsed(self, stamp: str, data: bytes) -> pa.Table:
        found = _tables.get(self._id)
        if found is None or found[0] != stamp:
            found = _tables[self._id] = (stamp, read_lookup(self._path, data, self._schema, self._options))
        return found[1]

    def _kept(self) -> tuple[str, bytes] | None:
        try:
            stamp, _, data = self._copy.read_bytes().partition(b"\n")
        except OSError:
            return None
        return stamp.decode(), data

    def _stamp(self) -> tuple[str, float]:
        """What changes with the file, and how old that is."""
        found = self._path.stat()
        return f"{found.st_mtime_ns} {found.st_size} {found.st_ino}", self._now() - found.st_mtime


class LookupSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "tidelog_lookup"

    def reader(self, schema: StructType) -> "LookupReader":
        return LookupReader(dict(self.options.items()), schema)


class LookupReader(DataSourceReader):
    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options, self._schema = options, schema

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from lookup_file(self._options, self._schema).table().to_batches()


def lookup_file(options: Mapping[str, str], schema: StructType) -> LookupFile:
    own = {name: value for name, value in options.items() if name != "path"}
    return LookupFile(Path(options["path"]), to_arrow_schema(schema, timezone="UTC"), own)
