"""Iceberg tables, by the library pyiceberg: any catalog it knows, or a file beside the table.

The last batch of a query is a property of the table, changed in the commit that adds the batch's snapshot;
the snapshot names the batch too, for people. A property outlives the snapshots that maintenance expires.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.io.pyarrow import parquet_file_to_data_file, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from tidelog.spark.lake import schema as schemas
from tidelog.spark.lake.batch import LakeBatch
from tidelog.spark.lake.errors import CommitConflict, LakeError
from tidelog.spark.lake.options import LakeOptions, Upsert
from tidelog.spark.lake.plan import FilePlan, check_partition_columns, partitions_of
from tidelog.spark.lake.storage import Storage, is_local, local_path, open_storage
from tidelog.spark.lake.tables import LakeTable
from tidelog.spark.lake.written_file import WrittenFile

CATALOG_FILE = "_tidelog/catalog.db"
NAMESPACE = "lake"
NEW_TABLE = {
    # Each commit rewrites the table's metadata, so what it refers to must not grow for ever.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "commit.manifest-merge.enabled": "true",
}


class IcebergLakeTable(LakeTable):
    def __init__(self, options: LakeOptions, table: Table) -> None:
        self._options = options
        self._table = table
        self._columns = columns_of(table)
        self._partition_by = partitions_of(options, _partition_columns(table))
        self._storage = open_storage(table.location(), "iceberg", table.io.properties)

    @property
    def storage(self) -> Storage:
        return self._storage

    @property
    def identity(self) -> str:
        return str(self._table.metadata.table_uuid)

    def plan(self) -> FilePlan:
        return FilePlan(
            location=self._table.location(),
            table_format="iceberg",
            directory=self.data_directory,
            columns=self._columns,
            written=_with_field_ids(schema_to_pyarrow(self._table.schema())),
            partition_by=self._partition_by,
            compression=self._options.compression,
            file_bytes_max=self._options.file_bytes_max,
            properties={name: str(value) for name, value in self._table.io.properties.items()},
        )

    def last_batch(self, query: str) -> int | None:
        number = self._table.properties.get(_property(query))
        return None if number is None else int(number)

    def add(self, batch: LakeBatch, files: Sequence[WrittenFile], *, overwrite: bool) -> None:
        gone = [task.file for task in self._table.scan().plan_files()] if overwrite else []
        self._commit(batch, files, gone, adds_only=not overwrite)

    def upsert(self, batch: LakeBatch, rows: pa.Table, upsert: Upsert) -> set[str]:
        from tidelog.spark.lake.iceberg_upsert import Rewrite

        rewrite = Rewrite(self._table, self.plan(), batch, upsert)
        files = rewrite.take(rows)
        self._commit(batch, files, rewrite.replaced, adds_only=not rewrite.replaced)
        return {file.path for file in files}

    def _commit(
        self, batch: LakeBatch, files: Sequence[WrittenFile], gone: Sequence[DataFile], *, adds_only: bool
    ) -> None:
        _without_blind_retries(self._table)
        properties = {"tidelog.query": batch.query, "tidelog.batch": str(batch.number)}
        try:
            with self._table.transaction() as transaction:
                transaction.set_properties({_property(batch.query): str(batch.number)})
                update = transaction.update_snapshot(snapshot_properties=properties)
                with update.merge_append() if adds_only else update.overwrite() as snapshot:
                    for old in gone:
                        snapshot.delete_data_file(old)
                    for file in files:
                        snapshot.append_data_file(
                            parquet_file_to_data_file(
                                self._table.io, self._table.metadata, f"{self._table.location()}/{file.path}"
                            )
                        )
        except CommitFailedException as error:
            raise CommitConflict(str(error)) from error

    def complete(self, batch: LakeBatch) -> None:
        self.tell_readers()

    def tell_readers(self) -> None:
        """Names the newest metadata, for readers that know the directory and no catalog."""
        if not self._options.catalog:
            name = self._table.metadata_location.rpartition("/")[2].removesuffix(".metadata.json")
            self._storage.write("metadata/version-hint.text", name.encode())


def open_iceberg(options: LakeOptions, schema: pa.Schema | None) -> IcebergLakeTable:
    if not options.catalog and not _catalog_file(options).exists() and schema is None:
        raise LakeError(f"there is no Iceberg table at {options.path}")
    catalog = open_catalog(options)
    name = table_name(options)
    try:
        table = catalog.load_table(name)
    except NoSuchTableError:
        if schema is None:
            raise LakeError(f"there is no Iceberg table {name}") from None
        table, has_changed = _create(catalog, name, options, schema), True
    else:
        has_changed = schema is not None and _extend(table, schema, options)
    opened = IcebergLakeTable(options, table)
    if has_changed:
        opened.tell_readers()
    return opened


def open_catalog(options: LakeOptions) -> Catalog:
    """The catalog that the options describe; without any, an SQLite file in the table's own directory."""
    if options.catalog:
        return load_catalog("tidelog", **options.catalog)
    file = _catalog_file(options)
    file.parent.mkdir(parents=True, exist_ok=True)
    return load_catalog("tidelog", type="sql", uri=f"sqlite:///{file}", warehouse=str(file.parent.parent))


def table_name(options: LakeOptions) -> str:
    if options.table:
        return options.table if "." in options.table else f"{NAMESPACE}.{options.table}"
    # A dot would be taken for a namespace.
    return f"{NAMESPACE}.{local_path(options.path).resolve().name.replace('.', '_')}"


def columns_of(table: Table) -> pa.Schema:
    return schemas.plain(schema_to_pyarrow(table.schema(), include_field_ids=False))


def _catalog_file(options: LakeOptions) -> Path:
    if not is_local(options.path):
        raise LakeError(
            f"an Iceberg table at {options.path} needs a catalog: catalog.type, catalog.uri and table;"
            " only a local directory can hold its own"
        )
    return local_path(options.path).resolve() / CATALOG_FILE


def _create(catalog: Catalog, name: str, options: LakeOptions, schema: pa.Schema) -> Table:
    check_partition_columns(schema, options.partition_by)
    location = None
    if options.path:
        location = str(local_path(options.path).resolve()) if is_local(options.path) else options.path
    try:
        catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
        creation = catalog.create_table_transaction(
            name, schemas.nullable(schema), location=location, properties=NEW_TABLE
        )
        with creation as transaction, transaction.update_spec() as spec:
            for column in options.partition_by:
                spec.add_field(column, IdentityTransform(), column)
    except (TableAlreadyExistsError, CommitFailedException) as error:
        raise CommitConflict(str(error)) from error
    return catalog.load_table(name)


def _extend(table: Table, schema: pa.Schema, options: LakeOptions) -> bool:
    columns = columns_of(table)
    merged = schemas.merge(columns, _as_iceberg_keeps(schema), may_add=options.merge_schema)
    if not schemas.added(columns, merged):
        return False
    try:
        with table.update_schema() as update:
            update.union_by_name(merged)
    except CommitFailedException as error:
        raise CommitConflict(str(error)) from error
    return True


def _as_iceberg_keeps(schema: pa.Schema) -> pa.Schema:
    """Iceberg has no numbers of 8 and 16 bits; they are kept as 32."""
    small = (pa.int8(), pa.int16())
    return pa.schema([field.with_type(pa.int32()) if field.type in small else field for field in schema])


def _partition_columns(table: Table) -> tuple[str, ...]:
    spec: PartitionSpec = table.spec()
    for part in spec.fields:
        if not isinstance(part.transform, IdentityTransform):
            column = table.schema().find_column_name(part.source_id)
            raise LakeError(
                f"the Iceberg table is partitioned by {part.transform}({column});"
                " this writer knows partitions by whole columns only"
            )
    return tuple(str(table.schema().find_column_name(part.source_id)) for part in spec.fields)


def _property(query: str) -> str:
    return f"tidelog.batch.{query}"


def _without_blind_retries(table: Table) -> None:
    """pyiceberg would repeat a failed commit on newer metadata, which may hold the batch by now.

    Only this copy in memory is told so; commits send changes, not the whole.
    """
    properties = {**table.metadata.properties, "commit.retry.num-retries": "0"}
    table.metadata = table.metadata.model_copy(update={"properties": properties})


def _with_field_ids(schema: pa.Schema) -> pa.Schema:
    """pyiceberg's Arrow schema with lengths of 32 bits, as Spark sends them, and the ids of the columns."""
    return pa.schema([_small(field) for field in schema])


def _small(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _small_type(field.type), field.nullable, field.metadata)


def _small_type(kind: Any) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(_small(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_small(kind.key_field), _small(kind.item_field))
    if pa.types.is_struct(kind):
        return pa.struct([_small(field) for field in kind])
    return kind
