"""`tidelog lake`: topics as tables."""

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.schema.connection import registry_options
from tidelog.cli.session import Session, parse_pair, pass_session
from tidelog.cli.spark.install import require_spark
from tidelog.cli.spark.metrics_port import address_of, metrics_options
from tidelog.spark.lake.options import FORMATS

RECORD_COLUMNS = "key,value,headers,timestamp,offset,partition"
BATCH_RECORDS = 5_000_000


@click.group()
def lake() -> None:
    """Keep Delta, Iceberg or Parquet tables up to date with topics."""


@lake.command()
@click.argument("topic", metavar="TOPIC")
@click.option(
    "--to", "path", required=True, metavar="PATH", help="The table's directory; created if it is missing."
)
@click.option(
    "--format",
    "table_format",
    type=click.Choice(FORMATS),
    default="delta",
    show_default=True,
    help="The format of the table.",
)
@click.option(
    "--continuous",
    is_flag=True,
    help="Run until stopped, instead of ending with the records that are there now.",
)
@click.option(
    "--every",
    default="10 seconds",
    show_default=True,
    metavar="SPAN",
    help="With --continuous: how often to commit.",
)
@click.option(
    "--schema", metavar="TEXT|FILE", help="Decode values: a DDL for JSON, an .avsc file, a descriptor set."
)
@click.option("--sample", metavar="FILE", help="Decode JSON values by the columns of this file's objects.")
@click.option(
    "--decode",
    type=click.Choice(("json", "avro", "protobuf")),
    help="The format of values. Without --schema and --sample, the schema registry has the schema. "
    "[default: by the schema]",
)
@click.option("--subject", metavar="NAME", help="The subject that values are read as. [default: TOPIC-value]")
@click.option("--message", metavar="NAME", help="The full name of the Protobuf message.")
@click.option(
    "--framing",
    type=click.Choice(("none", "confluent")),
    default="none",
    help="The framing before the encoded value.",
)
@click.option(
    "--on-error",
    type=click.Choice(("fail", "keep", "dead-letter")),
    help="What to do with a value that does not decode: fail, keep it with the reason, or send it to "
    "--dead-letter. [default: fail]",
)
@click.option("--dead-letter", metavar="TOPIC", help="The topic for values that do not decode.")
@click.option(
    "--columns",
    default=RECORD_COLUMNS,
    show_default=True,
    metavar="NAMES",
    help="The columns of each record to keep.",
)
@click.option("--prefix", default="", metavar="TEXT", help="A prefix for the names of those columns.")
@click.option(
    "--partition-by",
    default="",
    metavar="NAMES",
    help="Columns to partition by; date and hour are derived from the timestamp.",
)
@click.option(
    "--start", default="earliest", show_default=True, metavar="WHEN", help="earliest, latest or a time."
)
@click.option(
    "--batch-records",
    type=click.IntRange(min=1),
    default=BATCH_RECORDS,
    show_default=True,
    help="The most records in a commit.",
)
@click.option(
    "--checkpoint", metavar="DIR", help="Where the read position is kept. [default: PATH/_tidelog/sync]"
)
@click.option(
    "-o",
    "--option",
    "table_pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the table, such as compression=snappy. Repeatable.",
)
@click.option(
    "--master", metavar="URL", help="Run on this Spark cluster. [default: local[*], in this process]"
)
@click.option(
    "-c", "--conf", "pairs", multiple=True, metavar="NAME=VALUE", help="A setting of Spark. Repeatable."
)
@metrics_options
@registry_options
@pass_session
def sync(
    session: Session,
    topic: str,
    path: str,
    table_format: str,
    continuous: bool,
    every: str,
    schema: str | None,
    sample: str | None,
    decode: str | None,
    subject: str | None,
    message: str | None,
    framing: str,
    on_error: str | None,
    dead_letter: str | None,
    columns: str,
    prefix: str,
    partition_by: str,
    start: str,
    batch_records: int,
    checkpoint: str | None,
    table_pairs: tuple[str, ...],
    master: str | None,
    pairs: tuple[str, ...],
    metrics_port: int | None,
    metrics_host: str | None,
    registry_url: str | None,
) -> int:
    """Bring a table up to date with a topic: it holds each record once.

    The next run resumes where this run ended, also after a crash. Reads only committed records.

    \b
    tidelog lake sync orders --to lake/orders
    tidelog lake sync orders --to lake/orders --format iceberg --partition-by date
    tidelog lake sync orders --to lake/orders --schema 'id STRING, amount DOUBLE' --continuous
    tidelog lake sync orders --to lake/orders --registry http://localhost:8081
    """
    require_spark("lake sync")
    from tidelog.cli.spark.lake_sync import LakeSync, SyncRequest

    if on_error == "dead-letter" and dead_letter is None:
        raise CliError("--on-error dead-letter needs --dead-letter TOPIC.", code=Exit.USAGE)
    if dead_letter is not None and on_error not in (None, "dead-letter"):
        raise CliError(f"--dead-letter does not go with --on-error {on_error}.", code=Exit.USAGE)
    request = SyncRequest(
        topic=topic,
        path=path,
        table_format=table_format,
        every=every if continuous else None,
        schema=schema,
        sample=sample,
        decode=decode,
        registry_url=registry_url,
        subject=subject,
        message=message,
        framing=framing,
        on_error="dead-letter" if dead_letter is not None else on_error or "fail",
        dead_letter=dead_letter,
        columns=_names(columns),
        prefix=prefix,
        partition_by=_names(partition_by),
        start=start,
        batch_records=batch_records,
        checkpoint=checkpoint,
        table_options=dict(map(parse_pair, table_pairs)),
        master=master,
        settings=dict(map(parse_pair, pairs)),
        metrics=address_of(metrics_port, metrics_host),
    )
    return LakeSync(session, request).run()


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
