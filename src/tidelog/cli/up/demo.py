"""The proof that a fresh broker works: make a topic, write a record, read it back.

`tidelog up --demo` runs this as a process of its own: `python -m tidelog.cli.up.demo localhost:9092`. With
`--pipeline` it goes on as the demonstration of pipelines, with `--context NAME` as the user of that context.
"""

import os
import sys
import time

from tidelog.cli.connection import Cluster, exit_for
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.records.format import Consumed, text
from tidelog.cli.records.input import Outgoing
from tidelog.cli.records.reader import Reader
from tidelog.cli.records.spans import Span
from tidelog.cli.records.writer import Writer
from tidelog.cli.session import Session
from tidelog.cli.topic.admin import describe, topic_error

TOPIC = "hello"
GREETING = b"Hello, Tidelog"


def show_it_working(session: Session) -> str:
    """One line that says what was done; CliError where it was not."""
    cluster = Cluster(session)
    _create(cluster)
    began = time.monotonic()
    writer = Writer(cluster, TOPIC, acks="all", compression="none", idempotent=False, receipts=False)
    writer.send([Outgoing(b"greeting", GREETING, [], 0, None)], flush_each=False)
    if writer.error:
        raise writer.error
    offset = writer.partitions[0].last or 0
    record = _read_back(cluster, offset)
    took_ms = (time.monotonic() - began) * 1000
    return (
        f"  It works: wrote '{text(record.value)}' to topic '{TOPIC}', partition 0, offset {offset}, "
        f"{_whereabouts(cluster)}and read it back in {took_ms:.0f} ms.\n"
    )


def _whereabouts(cluster: Cluster) -> str:
    """Which brokers have it now, where there are several."""
    [topic] = describe(cluster, [TOPIC])
    holders = sorted(topic.partitions[0].in_sync)
    return f"on brokers {', '.join(map(str, holders))}, " if len(holders) > 1 else ""


def _create(cluster: Cluster) -> None:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import NewTopic

    answers = cluster.ask(cluster.admin.create_topics, [NewTopic(TOPIC, -1, -1)])
    for answer in answers.values():
        if isinstance(answer, KafkaError) and exit_for(answer) is not Exit.EXISTS:
            raise topic_error(answer, TOPIC, cluster.session)


def _read_back(cluster: Cluster, offset: int) -> Consumed:
    span = Span(0, offset, offset + 1)
    reader = Reader(cluster, TOPIC, [span], "read_committed", keep_waiting=False)
    for record in reader.records():
        if record.value == GREETING:
            return record
    raise CliError(f"The record at {TOPIC}[0] offset {offset} did not come back.")


def main() -> None:
    servers, *options = sys.argv[1:]
    context = options[options.index("--context") + 1] if "--context" in options else None
    session = Session(servers=servers)
    session.given_context = context
    try:
        print(show_it_working(session), flush=True)
        if "--pipeline" in options:
            # In a fresh process: this one's client library is not needed any more.
            module = ["-m", "tidelog.cli.spark.demo_pipeline", servers]
            os.execv(sys.executable, [sys.executable, *module, *([] if context is None else [context])])
    except CliError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        sys.exit(error.code)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


if __name__ == "__main__":
    main()
