"""A file that says where the brokers are, which exists while they answer, for scripts that wait for them."""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any


def write_ready_file(path: str, facts: Mapping[str, Any]) -> None:
    """Replaces the file in one step, so that no reader sees half of it."""
    with open(path + ".tmp", "w") as file:
        json.dump(facts, file)
    os.replace(path + ".tmp", path)


def remove_ready_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
