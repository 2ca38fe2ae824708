"""The setting event.loop."""

import asyncio
import importlib.util

import pytest
import uvloop

from tidelog.server.event_loop import loop_factory


@pytest.mark.parametrize("choice", ["auto", "uvloop"])
def test_uvloop_where_it_is_installed(choice: str) -> None:
    assert loop_factory(choice) is uvloop.new_event_loop


def test_asyncio_when_asked_for() -> None:
    assert loop_factory("asyncio") is asyncio.new_event_loop


def test_asyncio_where_uvloop_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.server.event_loop.find_spec", lambda name: None)
    assert importlib.util.find_spec("uvloop") is not None
    assert loop_factory("auto") is asyncio.new_event_loop
