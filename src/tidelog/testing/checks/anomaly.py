"""A promise that was not kept, as a check found it."""

from typing import NamedTuple


class Anomaly(NamedTuple):
    rule: str
    description: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.description}"
