"""Client properties from a file that people have: librdkafka's or Java's names, or Spark's with `kafka.`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tidelog.base.properties import InvalidProperties, parse_properties
from tidelog.base.variables import has_variables, machine_sources, with_absolute_files
from tidelog.cli.exits import CliError, Exit

_ABOUT_CONNECTIONS = (
    "security.", "sasl.", "ssl.", "enable.ssl.", "socket.", "broker.address.", "client.id",
    "schema.registry.", "basic.auth.", "bearer.auth.",
)  # fmt: skip
_SERVERS = ("bootstrap.servers", "metadata.broker.list")


class ImportedProperties(NamedTuple):
    properties: dict[str, str]
    ignored: tuple[str, ...]
    """Names that are not about the connection: a producer's or consumer's own."""


def import_properties(path: Path) -> ImportedProperties:
    """Raises CliError."""
    try:
        found = parse_properties(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}.", code=Exit.NOT_FOUND) from error
    except UnicodeDecodeError:
        raise CliError(f"{path} is not UTF-8 text.", code=Exit.USAGE) from None
    except InvalidProperties as error:
        raise CliError(f"{path}, line {error.line}: is not NAME=VALUE.", code=Exit.USAGE) from None
    made: dict[str, str] = {}
    ignored = []
    for written, value in found.items():
        name = written.removeprefix("kafka.")
        if name in _SERVERS:
            made["bootstrap.servers"] = value
        elif name.startswith(_ABOUT_CONNECTIONS):
            made[name] = value
        else:
            ignored.append(written)
    return ImportedProperties(absolute_paths(made, path.parent), tuple(ignored))


def absolute_paths(properties: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Commands run in any directory: paths are relative to this one where they exist there, else to ours."""
    sources = machine_sources(directory)
    return {
        name: _absolute(value, directory)
        if name.endswith(".location")
        else with_absolute_files(value, sources)
        for name, value in properties.items()
    }


def _absolute(value: str, directory: Path) -> str:
    if not value or os.path.isabs(value) or has_variables(value):
        return value
    beside = directory / value
    return str((beside if beside.exists() else Path(value)).absolute())
