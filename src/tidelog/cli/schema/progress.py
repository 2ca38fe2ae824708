"""A count that grows on a terminal while schemas are moved; elsewhere nothing is shown."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    is_shown = sys.stderr.isatty()

    def show(count: int) -> None:
        if is_shown:
            of = "" if total is None else f" of {total}"
            sys.stderr.write(f"\r{count}{of} {what}")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if is_shown:
            sys.stderr.write("\r\033[K")
