"""At the end of the process, records of producers that nobody closed are still sent.

A script that sends and ends would lose them without a word: `send` only hands a record over.
"""

import atexit
import logging
import weakref
from typing import Protocol

LIMIT_S = 10.0
LOG = logging.getLogger("tidelog.clients")


class Unclosed(Protocol):
    unsettled: int

    def close(self, timeout_s: float | None) -> None: ...


OPEN: "weakref.WeakSet[Unclosed]" = weakref.WeakSet()
"""Producers that were made and not closed yet."""


def send_what_is_left() -> None:
    for producer in list(OPEN):
        waiting = producer.unsettled
        if not waiting:
            continue
        LOG.warning(
            "a producer was not closed, and %s of its records had no outcome when the program ended; they "
            "are sent now, within %g s. Use `with Producer(...) as producer:`, or close() it.",
            f"{waiting:,}",
            LIMIT_S,
        )
        producer.close(LIMIT_S)


atexit.register(send_what_is_left)
