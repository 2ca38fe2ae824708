"""`decode_registered`: values with a schema's id before them as columns, for jobs that are no pipelines."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def decode_registered(
    records: "DataFrame",
    registry: str | Mapping[str, str],
    *,
    subject: str,
    version: int | None = None,
    message: str | None = None,
    on_error: str = "fail",
) -> "DataFrame":
    """The records of `format("tidelog")` with the fields of their values as columns.

    Each value names its schema by an id, as Confluent's serializers write it. The rows have the fields of the
    newest version of the subject, and those of the record as `_key`, `_topic`, `_partition`, `_offset` and
    `_timestamp`. No jar is needed: executors decode with fastavro and protobuf, and JSON with Spark's parser.

    A stream that meets a version which was registered after its start ends with `SchemaChanged`, before the
    batch is written. Start it again with the same checkpoint, and it reads the batch with the newer version;
    `tidelog pipeline run` does that by itself.

    Example:
        from tidelog.spark import decode_registered, spark_session

        spark = spark_session("orders")
        records = (
            spark.read.format("tidelog")
            .option("kafka.bootstrap.servers", "localhost:9092")
            .option("subscribe", "orders")
            .load()
        )
        orders = decode_registered(records, "http://localhost:8081", subject="orders-value")
        orders.groupBy("country").count().show()

    Args:
        records: What the source reads, with all columns.
        registry: A URL, or several with commas between them; or properties of Confluent's clients, such as
            `schema.registry.url` and `basic.auth.user.info`.
        subject: The subject that values are read as, such as `orders-value`.
        version: Its version to read with, instead of the newest.
        message: The full name of the Protobuf message, instead of the first of its file.
        on_error: What becomes of records that do not decode: `fail` or `drop`.

    Raises:
        BadSchema: The registry does not answer, or has no such schema, or Spark has no type for it.
    """
    from tidelog.blocking.registry.options import BadRegistryOption, options_of, options_of_url
    from tidelog.spark.values.errors import BadSchema
    from tidelog.spark.values.registered.reader import SubjectChoice
    from tidelog.spark.values.screening import OnError, Screen, decoded
    from tidelog.spark.values.value_decoding import registered_decoding

    try:
        options = options_of_url(registry) if isinstance(registry, str) else options_of(registry)
    except BadRegistryOption as error:
        raise BadSchema(str(error)) from error
    choice = SubjectChoice(options.embedded(), subject, version)
    return decoded(records, registered_decoding(None, choice, message), Screen(OnError(on_error)))
