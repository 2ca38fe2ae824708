"""At the end of the process, records of producers that were not closed are still sent.

A script that sends and ends would lose them without a word: `send` only hands a record over.
"""

import atexit
import logging
import os
import weakref
from time import monotonic
from typing import Protocol

LIMIT_S = 10.0
"""For all of them together: a program that ends does not wait for brokers once per producer."""
LOG = logging.getLogger("tidelog.clients")


class Unclosed(Protocol):
    unacknowledged: int

    def close(self, timeout_s: float | None) -> None: ...


OPEN: "weakref.WeakSet[Unclosed]" = weakref.WeakSet()
"""Producers that were made and not closed yet."""


def send_what_is_left() -> None:
    deadline = monotonic() + LIMIT_S
    for producer in list(OPEN):
        waiting = producer.unacknowledged
        if not waiting:
            continue
        left = max(0.0, deadline - monotonic())
        LOG.warning(
            "a producer was not closed, and %s of its records had no outcome when the program ended; they "
            "are sent now, within %.0f s. Use `with Producer(...) as producer:`, or close() it.",
            f"{waiting:,}",
            left,
        )
        try:
            producer.close(left)
        except Exception:  # a callback raised, say: the other producers have records, too
            LOG.exception("records of a producer that was not closed may be lost")


atexit.register(send_what_is_left)
if hasattr(os, "register_at_fork"):
    # A child has its parent's producers without the threads that send: it would wait for them in vain.
    os.register_at_fork(after_in_child=OPEN.clear)
