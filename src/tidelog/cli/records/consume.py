"""`tidelog consume`: read records by assigned partitions. No group is joined and nothing is committed."""

import sys
from collections.abc import Callable
from io import TextIOWrapper
from itertools import islice

import click

from tidelog.cli.connection import Cluster
from tidelog.cli.output import coloured
from tidelog.cli.records.decoding import decoder_for
from tidelog.cli.records.format import Columns, Consumed, choose
from tidelog.cli.records.positions import Anchor, Position, PositionType
from tidelog.cli.records.reader import Reader
from tidelog.cli.records.spans import OffsetLookup, plan, wanted_partitions
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.names import complete_topic


@click.command()
@click.argument("topic", shell_complete=complete_topic)
@click.option(
    "--from",
    "start",
    type=PositionType(),
    metavar="POSITION",
    help="beginning, end, an offset (42), the last N of each partition (-N), an age (5m, 2h, 1d), "
    "a time (2026-11-15T08:00, local unless it names a zone) or @milliseconds. "
    "[default: beginning; end with --follow]",
)
@click.option("--until", type=PositionType(), metavar="POSITION", help="Stop before this position.")
@click.option(
    "-p",
    "--partition",
    "partitions",
    type=click.IntRange(min=0),
    metavar="N",
    multiple=True,
    help="Only these. Repeatable.",
)
@click.option("-f", "--follow", is_flag=True, help="Wait for new records instead of stopping at the end.")
@click.option("-n", "--count", type=click.IntRange(min=1), metavar="N", help="Stop after N records.")
@click.option(
    "-F",
    "--format",
    "form",
    metavar="FORMAT",
    help="pretty, plain, json, hex, raw (the bytes of the values and nothing else), or a template: "
    "%t topic, %p partition, %o offset, %k key, %v value, "
    "%h headers, %T milliseconds, %d date, %K and %S sizes. [default: pretty on a terminal, else plain]",
)
@click.option("-k", "--keys", is_flag=True, help="Show keys.")
@click.option("-H", "--headers", is_flag=True, help="Show headers.")
@click.option("-T", "--timestamps", is_flag=True, help="Show timestamps.")
@click.option("-O", "--offsets", is_flag=True, help="Show partition and offset.")
@click.option("-a", "--all", "everything", is_flag=True, help="Show all of these.")
@click.option(
    "--isolation",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    default="read_committed",
    show_default=True,
    help="Whether records of open and aborted transactions are shown.",
)
@click.option(
    "--schema-registry",
    "registry_url",
    metavar="URL,…",
    help="Decode keys and values by the schema ids that they carry; `off` shows them as they are. "
    "[default: the context's schema.registry.url; on a terminal also port 8081 of the brokers; "
    "env: TIDELOG_SCHEMA_REGISTRY]",
)
@broker_options
@pass_session
def consume(
    session: Session,
    topic: str,
    start: Position | None,
    until: Position | None,
    partitions: tuple[int, ...],
    follow: bool,
    count: int | None,
    form: str | None,
    keys: bool,
    headers: bool,
    timestamps: bool,
    offsets: bool,
    everything: bool,
    isolation: str,
    registry_url: str | None,
) -> None:
    """Read records from a topic.

    Stops at the end of the topic as it was at the start, unless --follow is given. Joins no consumer group.

    \b
    tidelog consume orders --from -10            # the last ten of each partition
    tidelog consume orders --from 5m -f -k       # from five minutes ago, and new records; with keys
    tidelog consume orders --json | jq .value    # JSON lines
    tidelog consume orders -F '%o %k=%v\\n'       # a template
    tidelog consume orders --schema-registry http://localhost:8081   # Avro, JSON, Protobuf as JSON
    """
    columns = Columns(*(shown or everything for shown in (keys, headers, timestamps, offsets)))
    form = "json" if session.json else form
    show, end = choose(form, columns, on_terminal=sys.stdout.isatty(), colour=coloured())
    decode = _decoder(session, registry_url, form)
    start = start or Position(Anchor.END if follow else Anchor.BEGINNING)
    cluster = Cluster(session)
    lookup = OffsetLookup(cluster, topic, isolation)
    spans = plan(lookup, wanted_partitions(cluster, topic, partitions), start, until, follow=follow)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # the raw format carries any byte through
    reader = Reader(cluster, topic, spans, isolation, keep_waiting=follow)
    for record in islice(reader.records(), count):
        sys.stdout.write(show(record if decode is None else decode(record)) + end)
    sys.stdout.flush()


def _decoder(session: Session, url: str | None, form: str | None) -> Callable[[Consumed], Consumed] | None:
    on_terminal = form in (None, "pretty") and sys.stdout.isatty()
    return decoder_for(session, url, form or "", on_terminal=on_terminal)
