"""`tidelog queue peek`: the records that come next, read as a plain consumer reads them. Nothing is taken."""

import json
import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from itertools import islice

import click

from tidelog.cli.cluster.view import look_at_brokers
from tidelog.cli.connection import Cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.group.names import complete_group
from tidelog.cli.group.target import now_ms
from tidelog.cli.moments import span_text
from tidelog.cli.output import coloured, note
from tidelog.cli.partition_choice import TopicChoice
from tidelog.cli.queue.calls import needs_leaders
from tidelog.cli.queue.looking import find_queue
from tidelog.cli.queue.record_states import UNKNOWN, RecordState
from tidelog.cli.queue.settings import queue_settings
from tidelog.cli.queue.standing import QueuePartition
from tidelog.cli.queue.states_lookup import StatesLookup, topic_delay
from tidelog.cli.records.format import Columns, Consumed, as_json, choose
from tidelog.cli.records.positions import Position, PositionType
from tidelog.cli.records.reader import Reader
from tidelog.cli.records.spans import Bounds, OffsetLookup, Span, check_start, resolve
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.choice_option import topic_choice_option

MAX = 10
Peeked = tuple[Consumed, RecordState]


@click.command(short_help="Show the records that come next, without taking them.")
@click.argument("name", metavar="GROUP", shell_complete=complete_group)
@topic_choice_option("Only this topic, or some of its partitions (jobs:0,2). Repeatable.")
@click.option(
    "--from",
    "start",
    type=PositionType(),
    metavar="POSITION",
    help="Where to begin, as `tidelog consume --from` takes it. [default: where the group is]",
)
@click.option(
    "-n",
    "--max",
    "count",
    type=click.IntRange(min=1),
    default=MAX,
    metavar="N",
    help=f"How many records of each partition at most. [default: {MAX}]",
)
@click.option("--done", "with_done", is_flag=True, help="Also records that are done.")
@click.option(
    "-F",
    "--format",
    "form",
    metavar="FORMAT",
    help="pretty, plain, json, hex, raw or a template, as `tidelog consume` takes them. The last three show "
    "no state. [default: pretty on a terminal, else plain]",
)
@click.option("-k", "--keys", is_flag=True, help="Show keys.")
@click.option("-H", "--headers", is_flag=True, help="Show headers.")
@click.option("-T", "--timestamps", is_flag=True, help="Show timestamps.")
@click.option("-O", "--offsets", is_flag=True, help="Show partition and offset.")
@click.option("-a", "--all", "everything", is_flag=True, help="Show all of these.")
@broker_options
@pass_session
def peek(
    session: Session,
    name: str,
    choices: tuple[TopicChoice, ...],
    start: Position | None,
    count: int,
    with_done: bool,
    form: str | None,
    keys: bool,
    headers: bool,
    timestamps: bool,
    offsets: bool,
    everything: bool,
) -> None:
    """Show the records that come next in a queue, partition by partition, without taking them.

    Each with its state: available, in flight (a member holds it), scheduled, delayed (it waits for its retry)
    or dying (on its way to the dead-letter topic), and how often it was delivered.

    \b
    tidelog queue peek workers
    tidelog queue peek workers --topic jobs:0 --max 100 -k
    tidelog queue peek workers --json | jq .value
    """
    columns = Columns(*(shown or everything for shown in (keys, headers, timestamps, offsets)))
    show, end = state_format("json" if session.json else form, columns)
    direct, cluster = DirectCluster(session), Cluster(session)
    brokers = {broker.id: broker for broker in look_at_brokers(direct).alive}
    queue = find_queue(direct, name)
    parts = [part for part in queue.partitions if not choices or any(is_of(part, each) for each in choices)]
    if parts and all(part.start_offset is None for part in parts) and start is None:
        raise needs_leaders("where the next records are", name)
    isolation = queue_settings(direct, name).get("share.isolation.level", "read_uncommitted")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # the raw format carries any byte through
    shown = 0
    for part in parts:
        states = None
        if part.leader in brokers:
            delay = topic_delay(direct, part.place.topic)
            states = StatesLookup(direct, brokers[part.leader], name, part, delay)
        for record, state in islice(
            _peeked(cluster, part, states, start, isolation, with_done=with_done), count
        ):
            sys.stdout.write(show((record, state)) + end)
            shown += 1
    sys.stdout.flush()
    if session.json:
        return
    if not shown:
        note(f"No record waits for group '{name}'.")


def is_of(part: QueuePartition, choice: TopicChoice) -> bool:
    place = part.place
    return place.topic == choice.topic and (not choice.partitions or place.partition in choice.partitions)


def _peeked(
    cluster: Cluster,
    part: QueuePartition,
    states: StatesLookup | None,
    start: Position | None,
    isolation: str,
    *,
    with_done: bool,
) -> Iterator[Peeked]:
    topic, partition = part.place
    lookup = OffsetLookup(cluster, topic, isolation)
    bounds = Bounds(*(lookup.edge(edge, [partition])[partition] for edge in ("earliest", "latest")))
    if start is not None:
        by_time = lookup.by_time(start, [partition]).get(partition)
        first = check_start(resolve(start, bounds, by_time), bounds, topic, partition)
    elif part.start_offset is None:
        return  # the group has not begun here
    else:
        first = min(max(part.start_offset, bounds.low), bounds.high)
    if first >= bounds.high:
        return
    reader = Reader(cluster, topic, [Span(partition, first, bounds.high)], isolation, keep_waiting=False)
    for record in reader.records():
        state = (
            UNKNOWN
            if states is None
            else states.of(record.offset, record.timestamp, record.headers, now_ms())
        )
        if with_done or not state.is_done:
            yield record, state


def state_format(form: str | None, columns: Columns) -> tuple[Callable[[Peeked], str], str]:
    """The formats of `tidelog consume`, with the state in front where it is for people."""
    on_terminal = sys.stdout.isatty()
    show, end = choose(form, columns, on_terminal=on_terminal, colour=coloured())
    form = form or ("pretty" if on_terminal else "plain")
    if form == "json":
        return _as_json, end
    if form not in ("pretty", "plain"):
        return lambda peeked: show(peeked[0]), end
    gap = "  " if form == "pretty" else "\t"
    return lambda peeked: f"{state_text(peeked[1]):<12}{gap}{show(peeked[0])}", end


def state_text(state: RecordState) -> str:
    words = [state.word]
    if state.due_ms is not None:
        words.append(f"for {span_text(max(0, state.due_ms - now_ms()))}")
    if state.deliveries:
        words.append(f"({state.deliveries}x)")
    return " ".join(words)


def _as_json(peeked: Peeked) -> str:
    record, state = peeked
    facts = {"state": state.word, "deliveries": state.deliveries, "due": state.due_ms}
    return json.dumps(json.loads(as_json(record)) | facts, ensure_ascii=False, separators=(",", ":"))
