"""What the driver tells every task about the files to write; small, since it travels with each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tidelog.spark.errors import OptionError
from tidelog.spark.lake.options import FILE_BYTES_MAX, LakeOptions
from tidelog.spark.lake.storage import Storage, open_storage


@dataclass(frozen=True, slots=True)
class FilePlan:
    location: str
    table_format: str
    directory: str
    """Where batches have their directories, relative to the location."""
    columns: pa.Schema
    """Of the table: rows are brought into this form first."""
    written: pa.Schema
    """Of the files, where the partition columns may be missing."""
    partition_by: tuple[str, ...] = ()
    compression: str = "zstd"
    file_bytes_max: int = FILE_BYTES_MAX
    suffix: str = ".parquet"
    properties: Mapping[str, str] = field(default_factory=dict)

    def storage(self) -> Storage:
        return open_storage(self.location, self.table_format, self.properties)


def check_partition_columns(schema: pa.Schema, columns: tuple[str, ...]) -> None:
    """Only values that have one text each may name a directory, and a file needs some column besides."""
    for name in columns:
        if name not in schema.names:
            raise OptionError(f"partitionBy names {name}, and the columns are {', '.join(schema.names)}")
        kind = schema.field(name).type
        fits = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
        if not (fits or pa.types.is_string(kind) or pa.types.is_date(kind)):
            raise OptionError(
                f"partitionBy names {name}, which is {kind}; text, whole numbers, dates and booleans are fit"
                f" (to_date({name}) makes a date)"
            )
    if len(set(columns)) == len(schema.names):
        raise OptionError("partitionBy names every column, and nothing would be left for the files")


def partitions_of(options: LakeOptions, table: tuple[str, ...]) -> tuple[str, ...]:
    """The partition columns of a table that exists; options that say something else are refused."""
    if options.partition_by and options.partition_by != table:
        given, is_so = ", ".join(options.partition_by), ", ".join(table) or "nothing"
        raise OptionError(f"partitionBy is {given}, and the table is partitioned by {is_so}")
    return table
