"""A mistake in a pipeline: where, and what to write instead."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from tidelog.base.errors import TidelogError


class Fault(NamedTuple):
    line: int | None
    place: str
    message: str

    def __str__(self) -> str:
        where = ", ".join(filter(None, (f"line {self.line}" if self.line else "", self.place)))
        return f"{where}: {self.message}" if where else self.message


class InvalidPipeline(TidelogError):
    """A pipeline that cannot run, with everything that is wrong about it.

    Attributes:
        faults: What is wrong, in the order of the file.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = sorted(faults, key=lambda fault: fault.line or 0)
        super().__init__("\n".join(map(str, self.faults)))


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the closest known name as the end of a sentence: what `name` was probably meant to be."""
    names = list(known)
    if (near := nearest_name(name, names)) is not None:
        return f"; did you mean '{near}'?"
    return f"; there are {', '.join(sorted(names))}" if names else ""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    near = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return near[0] if near else None
