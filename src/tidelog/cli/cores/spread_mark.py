"""A file that is there while replicas are spread over new cores: a start that finds it goes on with that."""

import os
from collections.abc import Sequence
from contextlib import suppress

from tidelog.cli.log.core_dirs import DIRECTORY

FILE = "spreading"


class SpreadMark:
    def __init__(self, log_dirs: Sequence[str]) -> None:
        self._path = os.path.join(log_dirs[0], DIRECTORY, FILE)

    @property
    def is_set(self) -> bool:
        return os.path.exists(self._path)

    def set(self) -> None:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with open(self._path, "wb"):
            pass

    def clear(self) -> None:
        with suppress(FileNotFoundError):
            os.remove(self._path)
