"""A file that says where the brokers are, which exists while they answer, for scripts that wait for them."""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

from tidelog.cli.exits import CliError


def write_ready_file(path: str, facts: Mapping[str, Any]) -> None:
    """Replaces the file in one step, so that no reader sees half of it."""
    try:
        with open(path + ".tmp", "w") as file:
            json.dump(facts, file)
        os.replace(path + ".tmp", path)
    except OSError as error:
        raise CliError(
            f"Cannot write the ready file {path}: {error.strerror}.",
            attempt="--ready-file FILE, in a directory that can be written",
        ) from error


def remove_ready_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
