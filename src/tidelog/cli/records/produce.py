"""`tidelog produce`: write records from arguments, lines of stdin, or files; say where they landed."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO

import click

from tidelog.cli.connection import Cluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.records.encoding import WantedSchema, encoder_for, json_of
from tidelog.cli.records.input import FORMATS, Outgoing, Recipe
from tidelog.cli.records.positions import Anchor, Position, PositionType
from tidelog.cli.records.writer import Writer
from tidelog.cli.session import Session, broker_options, parse_pair, pass_session
from tidelog.cli.topic.admin import partition_ids
from tidelog.cli.topic.names import complete_topic


@click.command()
@click.argument("topic", shell_complete=complete_topic)
@click.argument("values", nargs=-1, metavar="[VALUE]…")
@click.option("-f", "--file", "file", type=click.Path(), help="Read records from here instead of stdin.")
@click.option("-k", "--key", help="The key of every record.")
@click.option(
    "-K", "--key-separator", metavar="TEXT", help="Split each record into key and value at this text."
)
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME=VALUE", help="A header. Repeatable.")
@click.option(
    "-p",
    "--partition",
    type=click.IntRange(min=0),
    metavar="N",
    help="The partition of every record. [default: by the hash of its key, as in Java]",
)
@click.option(
    "-t", "--timestamp", type=PositionType(), metavar="TIME", help="The time of every record. [default: now]"
)
@click.option(
    "-F",
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="The format of the input; json is what `consume --json` prints.",
)
@click.option("--whole", is_flag=True, help="The whole input is one record, line ends included.")
@click.option(
    "--null-value", is_flag=True, help="Send a tombstone; with -K, for records with an empty value."
)
@click.option(
    "--acks",
    type=click.Choice(["0", "1", "all"]),
    default="all",
    show_default=True,
    help="Whose acknowledgement to wait for: none, the leader's, or that of every in-sync replica.",
)
@click.option(
    "-z",
    "--compression",
    type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]),
    default="none",
    show_default=True,
    help="How batches are compressed.",
)
@click.option("--idempotent", is_flag=True, help="Let the broker refuse duplicates that a retry would make.")
@click.option("--receipts", is_flag=True, help="Print partition and offset of every record.")
@click.option(
    "--create-topic", is_flag=True, help="Create the topic with the broker's defaults if it is missing."
)
@click.option(
    "--value-schema",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Write values with this schema, registered as TOPIC-value or --value-subject. Values are JSON.",
)
@click.option(
    "--value-subject", metavar="SUBJECT", help="Write values with the latest schema of this subject."
)
@click.option(
    "--key-schema", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="The same for keys."
)
@click.option("--key-subject", metavar="SUBJECT", help="The same for keys.")
@click.option(
    "--message", metavar="NAME", help="The Protobuf message of the values. [default: the first of the schema]"
)
@click.option(
    "--schema-registry",
    "registry_url",
    metavar="URL,…",
    help="Where the schemas are. [default: as for `tidelog schema`; env: TIDELOG_SCHEMA_REGISTRY]",
)
@broker_options
@pass_session
def produce(
    session: Session,
    topic: str,
    values: tuple[str, ...],
    file: str | None,
    key: str | None,
    key_separator: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    timestamp: Position | None,
    form: str,
    whole: bool,
    null_value: bool,
    acks: str,
    compression: str,
    idempotent: bool,
    receipts: bool,
    create_topic: bool,
    value_schema: str | None,
    value_subject: str | None,
    key_schema: str | None,
    key_subject: str | None,
    message: str | None,
    registry_url: str | None,
) -> None:
    """Write records to a topic.

    Each VALUE is a record; without any, each line of stdin or of --file is one.

    \b
    tidelog produce orders 'first' 'second' --key customer-7
    tail -f app.log | tidelog produce logs
    tidelog produce users -K : < users.txt                 # lines such as 42:Ada
    tidelog produce users --key 42 --null-value            # a tombstone
    tidelog consume a --json | tidelog produce b -F json   # copy a topic
    tidelog produce orders '{"id": 1}' --value-schema order.avsc
    """
    if timestamp is not None and timestamp.anchor is not Anchor.TIME:
        raise click.UsageError("--timestamp wants a time: 2026-11-15T08:00, 5m (ago) or @milliseconds.")
    if null_value and values:
        raise click.UsageError("--null-value sends records without a value; leave VALUE out.")
    if idempotent and acks != "all":
        raise click.UsageError("--idempotent needs --acks all.")
    value_wanted, key_wanted = (
        WantedSchema(value_schema, value_subject, message),
        WantedSchema(key_schema, key_subject),
    )
    if (value_wanted or key_wanted) and form not in ("text", "json"):
        raise click.UsageError("With a schema, records are JSON: leave --format out, or give --format json.")
    recipe = Recipe(
        form=form,
        key=None if key is None or key_wanted else _bytes(key),
        key_separator=key_separator,
        headers=[(name, value.encode()) for name, value in map(parse_pair, headers)],
        partition=partition,
        timestamp=None if timestamp is None else timestamp.number,
        null_value=null_value,
    )
    cluster = Cluster(session)
    _check_topic(cluster, topic, partition, create_topic)
    if value_wanted or key_wanted:
        recipe = _with_schemas(recipe, session, registry_url, topic, key, key_wanted, value_wanted)
    writer = Writer(
        cluster, topic, acks=acks, compression=compression, idempotent=idempotent, receipts=receipts
    )
    writer.send(_outgoing(recipe, values, file, whole), flush_each=file is None and sys.stdin.isatty())
    writer.report()


def _with_schemas(
    recipe: Recipe,
    session: Session,
    url: str | None,
    topic: str,
    key: str | None,
    key_wanted: WantedSchema,
    value_wanted: WantedSchema,
) -> Recipe:
    if value_wanted:
        recipe = replace(recipe, encode_value=encoder_for(session, url, value_wanted, f"{topic}-value"))
    if key_wanted:
        encode = encoder_for(session, url, key_wanted, f"{topic}-key")
        recipe = replace(recipe, encode_key=encode)
        if key is not None:
            try:
                recipe = replace(recipe, key=encode(json_of(_bytes(key))))
            except ValueError as error:
                raise CliError(f"--key does not fit its schema: {error}.", code=Exit.USAGE) from error
    return recipe


def _bytes(argument: str) -> bytes:
    return argument.encode("utf-8", "surrogateescape")


def _check_topic(cluster: Cluster, topic: str, partition: int | None, create: bool) -> None:
    try:
        existing = partition_ids(cluster, topic)
    except CliError as error:
        if error.code is not Exit.NOT_FOUND or not create:
            raise
        from confluent_kafka.admin import NewTopic

        from tidelog.cli.topic.admin import raise_refusals

        answers = cluster.ask(cluster.admin.create_topics, [NewTopic(topic, -1, -1)])
        raise_refusals(answers, cluster.session)
        return
    if partition is not None and partition not in existing:
        raise CliError(
            f"Topic '{topic}' has no partition {partition}; it has 0 to {len(existing) - 1}.",
            attempt=f"tidelog topic add-partitions {topic} {partition + 1}",
            code=Exit.NOT_FOUND,
        )


def _outgoing(recipe: Recipe, values: tuple[str, ...], file: str | None, whole: bool) -> Iterable[Outgoing]:
    if values:
        return recipe.records(map(_bytes, values))
    if recipe.null_value and recipe.key_separator is None and file is None:
        return [recipe.tombstone()]
    stream = sys.stdin.buffer if file is None else _open(file)
    if file is None and sys.stdin.isatty():
        from tidelog.cli.output import note

        note("One record per line; Ctrl-D ends the input.")
    return recipe.records([stream.read()] if whole else _lines(stream))


def _open(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        code = Exit.NOT_FOUND if isinstance(error, FileNotFoundError) else Exit.FAILED
        raise CliError(f"Cannot read {path}: {error.strerror}.", code=code) from error


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    for line in stream:
        yield line.removesuffix(b"\n").removesuffix(b"\r")
