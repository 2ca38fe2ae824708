"""A plain directory of Parquet files, exact for readers that know nothing but `*.parquet`.

    events/day=2024-05-01/part-<query>-<batch>-00000.parquet   what readers see; it appears whole, and once
    events/_tidelog/table/000001.json                          columns and partitions, a file for each change
    events/_tidelog/commits/<query>/<batch>.json               the commit: which staged file gets which name
    events/_tidelog/staging/<query>/<batch>/…                  what tasks write, in names that no reader takes

A batch is in the table from the moment its commit file exists. Then the staged files are moved to names that
the commit file has fixed, so that repeating the moves after a crash ends with the same files. Readers see
each row at most once at any time, and all rows of a batch as soon as its moves are done.
"""

import base64
import json
import uuid
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tidelog.spark.lake import schema as schemas
from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.errors import CommitConflict, LakeError
from tidelog.spark.lake.options import LakeOptions
from tidelog.spark.lake.partitions import directory
from tidelog.spark.lake.plan import FilePlan, check_partition_columns, partitions_of
from tidelog.spark.lake.storage import Storage, open_storage
from tidelog.spark.lake.tables import LakeTable
from tidelog.spark.lake.written_file import WrittenFile

OURS = "_tidelog"
TABLE = f"{OURS}/table"
COMMITS = f"{OURS}/commits"
STAGING = f"{OURS}/staging"
STAGED_SUFFIX = ".staged"  # a glob for *.parquet at any depth must not find them
COMMITS_KEPT = 2


class ParquetLakeTable(LakeTable):
    data_directory = STAGING

    def __init__(self, options: LakeOptions, storage: Storage, description: dict[str, Any]) -> None:
        self._options = options
        self._storage = storage
        self._description = description
        self._columns = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(description["schema"])))
        self._partition_by = partitions_of(options, tuple(description["partitionBy"]))

    @property
    def storage(self) -> Storage:
        return self._storage

    @property
    def identity(self) -> str:
        return str(self._description["id"])

    @property
    def columns(self) -> pa.Schema:
        return self._columns

    def plan(self) -> FilePlan:
        kept = [field for field in self._columns if field.name not in self._partition_by]
        return FilePlan(
            location=self._options.path,
            table_format="parquet",
            directory=STAGING,
            columns=self._columns,
            written=pa.schema(kept),
            partition_by=self._partition_by,
            compression=self._options.compression,
            file_bytes_max=self._options.file_bytes_max,
            suffix=STAGED_SUFFIX,
        )

    def last_batch(self, query: str) -> int | None:
        return max(self._commits(query), default=None)

    def add(self, batch: LakeBatch, files: Sequence[WrittenFile], *, overwrite: bool) -> None:
        commit = {
            "rows": sum(file.rows for file in files),
            "replaced": self._published() if overwrite else [],
            "moves": [
                [file.path, self._public_name(batch, number, file)] for number, file in enumerate(files)
            ],
        }
        if not self._storage.write_first(_commit_path(batch), json.dumps(commit).encode()):
            raise CommitConflict(f"{batch} was committed by another driver in the meantime")

    def complete(self, batch: LakeBatch) -> None:
        commit = json.loads(self._storage.read(_commit_path(batch)) or b"{}")
        for path in commit.get("replaced", ()):
            self._storage.delete(path)
        for staged, public in commit.get("moves", ()):
            if self._storage.exists(staged):
                self._storage.move(staged, public)
            elif not self._storage.exists(public):
                raise LakeError(f"{batch} is committed, but its file {public} is gone, and so is {staged}")
        self._forget_older(batch)

    def _forget_older(self, batch: LakeBatch) -> None:
        """What earlier batches of the query needed while they were on their way."""
        for number in sorted(self._commits(batch.query))[:-COMMITS_KEPT]:
            self._storage.delete(_commit_path(LakeBatch(batch.query, number)))
        for name in self._storage.directories(f"{STAGING}/{batch.query}"):
            if name.isdigit() and int(name) <= batch.number:
                self._storage.delete_directory(f"{STAGING}/{batch.query}/{name}")

    def _commits(self, query: str) -> list[int]:
        names = [path.rpartition("/")[2] for path in self._storage.files(f"{COMMITS}/{query}")]
        return [int(name.removesuffix(".json")) for name in names if name.removesuffix(".json").isdigit()]

    def _published(self) -> list[str]:
        return _public_files(self._storage)

    def _public_name(self, batch: LakeBatch, number: int, file: WrittenFile) -> str:
        place = directory(self._partition_by, [file.partition[name] for name in self._partition_by])
        name = f"part-{batch.query}-{batch.number}-{number:05d}.parquet"
        return f"{place}/{name}" if place else name


def open_parquet(options: LakeOptions, schema: pa.Schema | None) -> ParquetLakeTable:
    storage = open_storage(options.path, "parquet", options.storage)
    versions = storage.files(TABLE)
    versions = [path for path in versions if path.endswith(".json")]
    if not versions:
        if schema is None:
            raise LakeError(f"there is no table of plain Parquet files made by Tidelog at {options.path}")
        return ParquetLakeTable(options, storage, _create(options, storage, schema))
    table = ParquetLakeTable(options, storage, json.loads(storage.read(versions[-1]) or b""))
    if schema is None:
        return table
    merged = schemas.merge(table.columns, schema, may_add=options.merge_schema)
    if not schemas.added(table.columns, merged):
        return table
    partition_by = table.plan().partition_by
    description = _describe(table.identity, merged, partition_by)
    _write_version(storage, len(versions) + 1, description)
    return ParquetLakeTable(options, storage, description)


def _create(options: LakeOptions, storage: Storage, schema: pa.Schema) -> dict[str, Any]:
    check_partition_columns(schema, options.partition_by)
    if _public_files(storage):
        raise LakeError(
            f"{options.path} holds Parquet files of another writer, which say nothing about batches;"
            " choose an empty directory"
        )
    description = _describe(str(uuid.uuid4()), schemas.nullable(schema), options.partition_by)
    _write_version(storage, 1, description)
    return description


def _write_version(storage: Storage, number: int, description: dict[str, Any]) -> None:
    if not storage.write_first(f"{TABLE}/{number:06d}.json", json.dumps(description, indent=1).encode()):
        raise CommitConflict("another writer changed the columns of the table in the meantime")


def _describe(identity: str, schema: pa.Schema, partition_by: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": identity,
        "partitionBy": list(partition_by),
        "columns": {field.name: str(field.type) for field in schema},
        "schema": base64.b64encode(schema.serialize().to_pybytes()).decode(),
    }


def _commit_path(batch: LakeBatch) -> str:
    return f"{COMMITS}/{batch.query}/{batch.number}.json"


def _public_files(storage: Storage) -> list[str]:
    found = storage.files("")
    return [path for path in found if path.endswith(".parquet") and not path.startswith(f"{OURS}/")]
