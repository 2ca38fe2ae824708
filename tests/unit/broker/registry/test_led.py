"""The registry at its leader, for one call: when its answer may go out."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.broker.registry.led import LedRegistry, NotCommitted


def led(**served: Any) -> LedRegistry:
    """A call at the only broker of a cluster, where everything in the log is committed."""
    services: Any = SimpleNamespace(metadata=SimpleNamespace(image=SimpleNamespace(brokers={1: None})))
    stand_in: Any = SimpleNamespace(when_committed=lambda look, refused: look(), **served)
    return LedRegistry(services, None, stand_in)  # type: ignore[arg-type]


def test_an_answer_goes_out_once_everything_is_committed() -> None:
    asyncio.run(led(is_closed=False).until_committed())


def test_a_leader_that_lost_the_lead_during_the_call_gives_no_answer_though_it_leads_again() -> None:
    """Its old shard may know schemas that were never committed, and miss those of the leader in between."""
    with pytest.raises(NotCommitted):
        asyncio.run(led(is_closed=True).until_committed())
