"""`tidelog queue`: list and describe; the other commands have their own files."""

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.group.names import complete_group
from tidelog.cli.group.target import now_ms
from tidelog.cli.queue.dead_letters.redrive import redrive
from tidelog.cli.queue.dead_letters.show import dead_letters
from tidelog.cli.queue.looking import find_queue, list_queues
from tidelog.cli.queue.peek import peek
from tidelog.cli.queue.purge import purge
from tidelog.cli.queue.reset import reset
from tidelog.cli.queue.settings import queue_settings
from tidelog.cli.queue.standing import Queue, summary
from tidelog.cli.queue.stats import stats
from tidelog.cli.queue.tables import queue_json, show_queue, show_queues
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.watch import show, watch_options

Described = tuple[Queue, dict[str, str]]


@click.group(cls=FullHelpGroup)
def queue() -> None:
    """See queues (share groups), move them, and put dead letters back.

    A queue is a share group that reads topics: each record goes to one member, which acknowledges it.
    """


@queue.command("list")
@watch_options
@broker_options
@pass_session
def list_command(session: Session, watch: bool, interval: float) -> None:
    """List queues with their members, depth, records in flight and oldest age."""
    direct = DirectCluster(session)

    def draw(queues: list[Queue]) -> None:
        if queues:
            show_queues(queues, now_ms())
        else:
            print(f"No share groups at {session.servers}.")

    show(
        session,
        lambda: list_queues(direct),
        lambda queues: [summary(found, now_ms()) for found in queues],
        draw,
        watch=watch,
        interval_s=interval,
    )


@queue.command()
@click.argument("names", nargs=-1, required=True, metavar="GROUP…", shell_complete=complete_group)
@watch_options
@broker_options
@pass_session
def describe(session: Session, names: tuple[str, ...], watch: bool, interval: float) -> None:
    """Show settings, members and partitions of queues.

    Settings are those of the group; `tidelog config` changes them:

    \b
    tidelog queue describe workers
    tidelog config set group workers share.delivery.count.limit=10 share.record.lock.duration.ms=60s
    tidelog config set group workers errors.deadletterqueue.topic.name=dlq.workers
    tidelog config set group workers share.retry.backoff.ms=1s share.retry.backoff.max.ms=10min
    """
    direct = DirectCluster(session)

    def look() -> list[Described]:
        return [(find_queue(direct, name), queue_settings(direct, name)) for name in dict.fromkeys(names)]

    def draw(found: list[Described]) -> None:
        for number, (queue, settings) in enumerate(found):
            if number:
                print()
            show_queue(queue, settings, now_ms())

    show(
        session,
        look,
        lambda found: [queue_json(queue, settings, now_ms()) for queue, settings in found],
        draw,
        watch=watch,
        interval_s=interval,
    )


for command in (peek, stats, reset, dead_letters, redrive, purge):
    queue.add_command(command)
