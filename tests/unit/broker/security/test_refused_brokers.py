"""A broker whose principal may not act as one: its own log and those of the others say so, and what to do."""

import asyncio

import pytest

from tests.rigs.authorized_cluster import ADMIN, BROKER, AuthorizedCluster
from tidelog.broker.security import refused_brokers
from tidelog.broker.security.refused_brokers import RefusedBrokers
from tidelog.testing.sim.runtime.loop import SimLoop


def test_brokers_that_super_users_does_not_name(caplog: pytest.LogCaptureFixture) -> None:
    loop = SimLoop()
    cluster = AuthorizedCluster(loop, 2, {"super.users": ADMIN})

    async def life() -> None:
        for machine in cluster.machines:
            machine.start()
        await asyncio.sleep(12)
        assert not any(machine.serves for machine in cluster.machines)

    try:
        loop.run_until_complete(life())
        assert not loop.errors, loop.errors
    finally:
        loop.close()
    texts = {
        level: [r.getMessage() for r in caplog.records if r.levelname == level]
        for level in ("WARNING", "ERROR")
    }
    refusals = [text for text in texts["WARNING"] if "is refused" in text]
    assert len(refusals) == 2  # a line on each broker, however often the other tries
    assert all(f"name {BROKER} in super.users of all brokers" in text for text in refusals)
    errors = [text for text in texts["ERROR"] if "refused as a broker by" in text]
    assert {text.partition(":")[0] for text in errors} == {
        "refused as a broker by 1@n1",
        "refused as a broker by 2@n2",
    }
    assert all("super.users" in text for text in errors)


def test_a_principal_gets_a_line_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_brokers, "PRINCIPALS_MAX", 3)
    refused, lines = RefusedBrokers(), []
    for host, now in (
        ("a", 0.0),
        ("a", 59.0),
        ("b", 59.0),
        ("a", 60.0),
        ("c", 60.0),
        ("d", 60.0),
        ("a", 61.0),
    ):
        caplog.clear()
        refused.warn("User:stranger", host, now)
        lines.append(len(caplog.records))
    assert lines == [1, 0, 1, 1, 1, 1, 1]  # the fourth host ends what is remembered
