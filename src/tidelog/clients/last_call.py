"""At the end of the process, what producers and queues that were not closed have to send is still sent.

A script that sends and ends would lose it without a word: `send` only hands a record over, and `done` an
acknowledgement.
"""

import atexit
import logging
import os
import weakref
from time import monotonic
from typing import NamedTuple, Protocol

LIMIT_S = 10.0
"""For all of them together: a program that ends does not wait for brokers once per client."""
LOG = logging.getLogger("tidelog.clients")


class Words(NamedTuple):
    """How the warning names a client."""

    what: str
    waiting: str
    remedy: str


class Unclosed(Protocol):
    words: Words

    @property
    def unacknowledged(self) -> int: ...

    def close(self, timeout_s: float | None) -> None: ...


OPEN: "weakref.WeakSet[Unclosed]" = weakref.WeakSet()
"""Clients that were made and not closed yet."""


def send_what_is_left() -> None:
    deadline = monotonic() + LIMIT_S
    for client in list(OPEN):
        waiting = client.unacknowledged
        if not waiting:
            continue
        left = max(0.0, deadline - monotonic())
        LOG.warning(
            "%s was not closed, and %s %s when the program ended; they are sent now, within %.0f s. "
            "Use `%s`, or close() it.",
            *(client.words.what, f"{waiting:,}", client.words.waiting, left, client.words.remedy),
        )
        try:
            client.close(left)
        except Exception:  # a callback raised, say: the other clients have something to send, too
            LOG.exception("what %s that was not closed had to send may be lost", client.words.what)


atexit.register(send_what_is_left)
if hasattr(os, "register_at_fork"):
    # A child has its parent's clients without the threads that send: it would wait for them in vain.
    os.register_at_fork(after_in_child=OPEN.clear)
