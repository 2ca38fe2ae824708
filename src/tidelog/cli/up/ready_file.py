"""A file that says where the brokers are, there as long as they answer: whoever waits for them looks here."""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any


def write_ready_file(path: str, facts: Mapping[str, Any]) -> None:
    """In one step, so that nobody reads half of it."""
    with open(path + ".tmp", "w") as file:
        json.dump(facts, file)
    os.replace(path + ".tmp", path)


def remove_ready_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
