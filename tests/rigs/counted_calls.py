"""Counts calls of Python code: a measure of work that no clock and no other process disturbs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def counted_calls() -> Iterator[Callable[[], int]]:
    """Yields a function that returns how many calls there were within the block; a step of a generator is
    one."""
    calls = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield lambda: calls
    finally:
        sys.setprofile(before)
