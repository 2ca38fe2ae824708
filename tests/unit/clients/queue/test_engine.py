"""The lock that threads and the application share: what callers are told before they wait."""

import os
from typing import Any

import pytest

from tidelog import UsageError
from tidelog.clients.queue.config import QueueConfig
from tidelog.clients.queue.engine import LOOK_S, QueueEngine
from tidelog.shares.states import AckType


@pytest.fixture
def engine() -> QueueEngine:
    return QueueEngine("jobs", QueueConfig(bootstrap_servers=["nowhere:1"], prefetch=2))


def test_an_application_that_holds_all_that_prefetch_allows_is_told_once(
    engine: QueueEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.core.stock.out = 1
    engine.begin_taking(0)
    assert caplog.messages == []
    engine.core.stock.out = 2
    for _ in range(3):
        engine.begin_taking(0)
    [message] = caplog.messages
    assert "call done(), retry() or fail() for each job" in message


def test_a_call_of_an_idle_application_waits_for_a_look_at_the_brokers(engine: QueueEngine) -> None:
    first, second = engine.begin_taking(0), engine.begin_taking(0)
    assert first is not None
    assert second is not None
    assert first - second > 0.9 * LOOK_S
    assert engine.begin_taking(None) is None


def test_a_forked_child_is_told_that_the_jobs_are_its_parents(
    engine: QueueEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(What it said of a job was never sent.)"""
    job: Any = None
    monkeypatch.setattr(os, "getpid", lambda: -1)
    engine.lock.acquire()  # as a thread that the child does not have may do
    for call in (
        lambda: engine.acknowledge(job, AckType.ACCEPT),
        lambda: engine.extend(job),
        lambda: engine.begin_flush([]),
        lambda: engine.take(0),
    ):
        with pytest.raises(UsageError, match="before the process forked"):
            call()
    engine.close()
