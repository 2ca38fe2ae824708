"""Batch jobs without `txnAppId`: they cannot be repeated, so no decision is recorded.

All or nothing, unless a process crashes. The transactions keep their timeouts: no driver would ever end a
prepared transaction.
"""

import re
import secrets
import time
from collections.abc import Sequence

from tidelog.spark.sink.intents import Intent, Participant
from tidelog.spark.sink.two_phase_commit import TwoPhaseCommit

NAMES_MAX = 4096
"""One for each write would be cleaner, but the cluster remembers every transactional id for days."""
STRAGGLERS_S = 3.0
"""How long tasks of a job that failed may go on: Spark kills their processes after two seconds
(`spark.python.task.killTimeout`)."""
PAUSE_S = 0.2
_NAMES = re.compile(r"batch-[0-9a-f]{3}")  # names that users give have a slash, and queries are UUIDs


def new_name() -> str:
    """In place of a query's, so that the driver can tell the job's transactions from those of others."""
    return f"batch-{secrets.randbelow(NAMES_MAX):03x}"


def is_nameless(query: str) -> bool:
    return _NAMES.fullmatch(query) is not None


def commit_once(commit: TwoPhaseCommit, written: Sequence[Participant]) -> None:
    for one in written:
        commit.check_open(one)
    commit.finish(Intent("", 0, tuple(written), is_prepared=False))
    commit.await_markers(written)


def abort_once(commit: TwoPhaseCommit, query: str, written: Sequence[Participant]) -> None:
    """Also aborts what abandoned tasks wrote: left open, it would hold up readers until its timeout."""
    commit.abort_all(written)
    deadline = time.monotonic() + STRAGGLERS_S
    while True:
        commit.abort_open(query)
        if time.monotonic() >= deadline:
            return
        time.sleep(PAUSE_S)
