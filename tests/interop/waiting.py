"""Waiting for what a broker shows a moment after it agreed to it: Apache Kafka spreads metadata lazily."""

import time
from collections.abc import Callable

from tests.interop.driver import Refused


def eventually(holds: Callable[[], bool], patience_s: float = 20) -> None:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            if holds():
                return
        except Refused:
            if time.monotonic() > deadline:
                raise
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def until_it_holds(check: Callable[[], None], patience_s: float = 30) -> None:
    """Runs the assertions until they hold: figures of several brokers are never of one moment."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)
