"""Why a broker did not start, in words that lead on."""

import errno
import os

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import StorageError
from tidelog.cli.exits import CliError
from tidelog.server.listener import ListenError


def start_failure(error: Exception, config: BrokerConfig) -> CliError:
    where = ", ".join(str(listener) for listener in config.listeners())
    refused = error.__cause__ if isinstance(error, ListenError) else None
    if isinstance(refused, OSError) and refused.errno == errno.EADDRINUSE:
        port = config.listeners()[0].port
        return CliError(
            f"Cannot listen at {where}: the port is taken.",
            cause="another broker, or another program, runs there.",
            attempt="stop what runs there, or change `listeners`, and controller.quorum.voters with it on "
            "every machine"
            if config.list("controller.quorum.voters")
            else f"tidelog up --port {port + 1}, or --port 0 for a free one",
        )
    if isinstance(refused, OSError) and refused.errno == errno.EACCES:
        return CliError(
            f"Cannot listen at {where}: permission denied.",
            cause="ports below 1024 are for the system.",
            attempt="tidelog up --port 9092",
        )
    if isinstance(error, OSError) and error.filename is not None:
        return CliError(
            f"Cannot use {error.filename}: {error.strerror}.",
            cause="it cannot be written, or is no directory.",
            attempt="tidelog up --data DIR",
        )
    if isinstance(error, StorageError) and not _writable(config.list("log.dirs")[0]):
        return CliError(
            f"The broker did not start: {error}.",
            cause="the user that runs the broker may not write there.",
            attempt="tidelog up --data DIR, with a directory of that user",
        )
    return CliError(f"The broker did not start: {error}")


def _writable(directory: str) -> bool:
    directory = os.path.abspath(directory)
    while not os.path.exists(directory):
        directory = os.path.dirname(directory)
    return os.access(directory, os.W_OK | os.X_OK)
