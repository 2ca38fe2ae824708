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
    if isinstance(error, ListenError) and (setting := _http_setting(error, config)) is not None:
        return CliError(
            f"The broker did not start: {error}",
            cause=f"{setting} is {config.int(setting)}, and the broker cannot have that port.",
            attempt=f"--set {setting}={config.int(setting) + 1}, -1 for a free port, or 0 for none",
        )
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


def _http_setting(error: ListenError, config: BrokerConfig) -> str | None:
    """Returns the setting of the HTTP port that is refused; None for a listener of Kafka's protocol."""
    if error.address is None or error.address.name != "HTTP":
        return None
    names = ("metrics.port", "schema.registry.port")
    return next((name for name in names if config.int(name) == error.address.port), None)


def _writable(directory: str) -> bool:
    directory = os.path.abspath(directory)
    while not os.path.exists(directory):
        directory = os.path.dirname(directory)
    return os.access(directory, os.W_OK | os.X_OK)
