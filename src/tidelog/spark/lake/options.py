"""The options of `format("tidelog_lake")`: one table of names, and errors that name the nearest right one."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.spark.errors import OptionError

FORMATS = ("delta", "iceberg", "parquet")
COMPRESSIONS = ("zstd", "snappy", "lz4", "gzip", "none")
FILE_BYTES_MAX = 512 << 20

OPTIONS = {
    "path": "where the table is: a directory, or an address such as s3://bucket/directory",
    "tableFormat": "delta (the default), iceberg or parquet",
    "partitionBy": "columns by whose values the rows are kept apart, with commas between them",
    "mergeSchema": "true (the default): columns that the table lacks are added; false: they are refused",
    "compression": "of the Parquet files: zstd (the default), snappy, lz4, gzip or none",
    "maxFileBytes": "a task begins another file when one has this size (default 512 MiB)",
    "upsertBy": "columns by which a row takes the place of the table's, with commas between them",
    "upsertOrder": "with upsertBy: a column that says which of two such rows is newer",
    "upsertDelete": "with upsertBy: a column that is true where the row is to go; the table does not get it",
    "txnAppId": "of batch jobs: a name, under which a job that is repeated with its txnVersion writes once",
    "txnVersion": "of batch jobs: a number that grows with each write under that name",
    "table": "of Iceberg: the table's name in its catalog, such as shop.orders",
}
PREFIXES = {
    "catalog.": "of Iceberg: what pyiceberg is told about the catalog, such as catalog.type and catalog.uri",
    "storage.": "of Delta: what deltalake is told about the storage, such as storage.aws_region",
}
# Spark hands these over with ours.
OF_SPARK = ("checkpointlocation", "queryname")


@dataclass(frozen=True, slots=True)
class Upsert:
    """Rows that take the place of those with the same values in some columns."""

    by: tuple[str, ...]
    order: str = ""
    """A column that says which of two is newer; none where a batch has one row of each."""
    deleted: str = ""
    """A column of the data alone: true where the row is to go."""


@dataclass(frozen=True, slots=True)
class LakeOptions:
    path: str
    table_format: str = "delta"
    partition_by: tuple[str, ...] = ()
    merge_schema: bool = True
    compression: str = "zstd"
    file_bytes_max: int = FILE_BYTES_MAX
    table: str = ""
    upsert: "Upsert | None" = None
    write_name: tuple[str, int] | None = None
    """(txnAppId, txnVersion)"""
    catalog: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)


def parse_options(raw: Mapping[str, str]) -> LakeOptions:
    """Names in any case, as everywhere in Spark."""
    given = {name.lower(): value for name, value in raw.items()}
    _refuse_unknown(given)
    catalog = _with_prefix(raw, "catalog.")
    path = _absolute(given.get("path", "").rstrip("/"))
    if not path and not (catalog and given.get("table")):
        raise OptionError('the option "path" is missing: it says where the table is')
    table_format = _choice(given, "tableFormat", FORMATS)
    if catalog and table_format != "iceberg":
        raise OptionError(f"catalog.* belongs to tableFormat iceberg, and this is {table_format}")
    if catalog and not given.get("table"):
        raise OptionError('with a catalog, the option "table" has to name the table, such as shop.orders')
    return LakeOptions(
        path=path,
        table_format=table_format,
        partition_by=_names(given.get("partitionby", "")),
        merge_schema=_choice(given, "mergeSchema", ("true", "false")) == "true",
        compression=_choice(given, "compression", COMPRESSIONS),
        file_bytes_max=_positive(given, "maxFileBytes", FILE_BYTES_MAX),
        table=given.get("table", ""),
        upsert=_upsert(given, table_format),
        write_name=_write_name(given),
        catalog=catalog,
        storage=_with_prefix(raw, "storage."),
    )


def _refuse_unknown(given: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in OPTIONS}
    for name in given:
        if name in known or name in OF_SPARK or name.startswith(tuple(PREFIXES)):
            continue
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"did you mean {known[near[0]]}?" if near else f"there are {', '.join(OPTIONS)}"
        raise OptionError(f'tidelog_lake has no option "{name}": {hint}')


def _with_prefix(raw: Mapping[str, str], prefix: str) -> dict[str, str]:
    # Spark has made the names lower-case by now, which pyiceberg and deltalake both take.
    return {name[len(prefix) :]: value for name, value in raw.items() if name.lower().startswith(prefix)}


def _absolute(path: str) -> str:
    """Tasks may run in another directory than the driver."""
    return os.path.abspath(path) if path and "://" not in path and not path.startswith("file:") else path


def _upsert(given: Mapping[str, str], table_format: str) -> Upsert | None:
    by = _names(given.get("upsertby", ""))
    order, deleted = given.get("upsertorder", ""), given.get("upsertdelete", "")
    if not by:
        if order or deleted:
            raise OptionError("upsertOrder and upsertDelete go with upsertBy, which is not set")
        return None
    if table_format == "parquet":
        raise OptionError("a directory of Parquet files only grows; delta and iceberg have upserts")
    return Upsert(by, order, deleted)


def _write_name(given: Mapping[str, str]) -> tuple[str, int] | None:
    app, version = given.get("txnappid", ""), given.get("txnversion", "")
    if not app and not version:
        return None
    if not app or not version.isdigit():
        raise OptionError("txnAppId and txnVersion must be set together, a name and a number")
    return app, int(version)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = given.get(name.lower(), choices[0]).lower()
    if value not in choices:
        raise OptionError(f"{name} is {value}, and it can be {', '.join(choices)}")
    return value


def _positive(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name.lower(), str(default))
    if not text.isdigit() or int(text) == 0:
        raise OptionError(f"{name} is {text}, and it has to be a number of bytes above 0")
    return int(text)
