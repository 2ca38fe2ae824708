"""`tidelog log-level`: see and change what running brokers log, module by module."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import click

from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.view import Broker, look_at_brokers
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, change_settings, read_settings
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json, print_table
from tidelog.cli.session import Session, broker_options, pass_session

DEFAULT = "default"

Levels = Mapping[int, Mapping[str, str]]


class Wanted(NamedTuple):
    brokers: Sequence[int]
    """None named: all."""
    changes: Mapping[str, str | None]
    """The new level of each logger; None: that of the logger above it."""
    names: Sequence[str]
    """Loggers to show, with those below them; none named: all."""


def parse_words(words: Sequence[str]) -> Wanted:
    """Numbers are brokers, LOGGER=LEVEL a change, and any other word is a logger to show."""
    brokers, changes, names = [], {}, []
    for word in words:
        name, equals, level = word.partition("=")
        if equals:
            if not name or not level:
                raise click.UsageError(f"'{word}' is not LOGGER=LEVEL, such as tidelog.broker.isr=debug.")
            changes[name] = None if level.lower() == DEFAULT else level.upper()
        elif word.isdecimal():
            brokers.append(int(word))
        else:
            names.append(word)
    return Wanted(brokers, changes, names)


@click.command("log-level")
@click.argument("words", nargs=-1, metavar="[BROKER]... [LOGGER[=LEVEL]]...")
@broker_options
@pass_session
def log_level(session: Session, words: Sequence[str]) -> None:
    """Show or change the log levels of running brokers.

    Without a BROKER all brokers are meant. LOGGER=LEVEL changes the level of a logger and those below it that
    have none of their own: trace, debug, info, warn, error, fatal, or default to follow the logger above.
    The logger root is above all others. A level lasts until the broker stops.

    \b
    tidelog log-level                                  the levels of all brokers
    tidelog log-level 2 tidelog.broker.isr=debug       more of one module of broker 2
    tidelog log-level tidelog.broker.isr=default       and as before, on all brokers
    """
    wanted = parse_words(words)
    direct = DirectCluster(session)
    view = look_at_brokers(direct)
    brokers = [view.broker(id) for id in wanted.brokers] or [
        broker for broker in view.brokers.values() if not broker.fenced
    ]
    if wanted.changes:
        for broker in brokers:
            _change(direct, broker, wanted.changes)
    names = [*wanted.names, *wanted.changes]
    levels = {broker.id: chosen_of(_read(direct, broker), names) for broker in brokers}
    if session.json:
        print_json([{"broker": id, "levels": found} for id, found in levels.items()])
    else:
        show_levels(levels)


def chosen_of(levels: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The loggers named and those below them; all where none is named."""
    return {
        name: level
        for name, level in levels.items()
        if not names or any(name == one or name.startswith(f"{one}.") for one in names)
    }


def show_levels(levels: Levels) -> None:
    """One column where all brokers agree, else a column each."""
    first, *others = levels.values()
    if all(other == first for other in others):
        print_table(("Logger", "Level"), list(first.items()))
        return
    names = dict.fromkeys(name for found in levels.values() for name in found)
    rows = [(name, *(found.get(name) for found in levels.values())) for name in names]
    print_table(("Logger", *(f"Broker {id}" for id in levels)), rows)


def _read(direct: DirectCluster, broker: Broker) -> dict[str, str]:
    with _reaching(broker):
        found = read_settings(
            direct, Kind.BROKER_LOGGER, [str(broker.id)], None, address=(broker.host, broker.port)
        )
    if not found:
        raise CliError(
            f"Broker {broker.id} does not show its log levels.",
            cause="it runs an earlier version, or you may not DESCRIBE_CONFIGS of the cluster.",
            code=Exit.REFUSED,
        )
    return found[str(broker.id)]


def _change(direct: DirectCluster, broker: Broker, changes: Mapping[str, str | None]) -> None:
    with _reaching(broker):
        change_settings(
            direct, Kind.BROKER_LOGGER, {str(broker.id): changes}, address=(broker.host, broker.port)
        )


@contextmanager
def _reaching(broker: Broker) -> Iterator[None]:
    try:
        yield
    except Disconnected as error:
        raise CliError(
            f"Broker {broker.id} at {broker.address} does not answer.",
            attempt="tidelog cluster brokers",
            code=Exit.UNREACHABLE,
        ) from error
