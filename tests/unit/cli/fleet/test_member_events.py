"""What a member says on its stdout, and who hears it."""

import asyncio
import json
import os
import signal
import subprocess
from typing import Any

import pytest

from tidelog.base.listener import Listener
from tidelog.cli.fleet.member import Member, MemberCommand
from tidelog.cli.fleet.plan import MemberPlan

HERE = Listener("PLAINTEXT", "localhost", 9092)


class Heard:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.events: list[Any] = []
        plan = MemberPlan(1, HERE, HERE, "/nowhere", cores=2)
        self.member = Member(plan, self.lines.append, self.events.append)

    def say(self, **event: Any) -> None:
        self.member._on_event(json.dumps(event))


@pytest.fixture
def heard() -> Heard:
    made = Heard()
    made.say(event="ready", brokers=[{"node_id": 1, "pid": 11}, {"node_id": 1001, "pid": 12}])
    return made


def test_a_machine_tells_what_happens_to_its_cores(heard: Heard) -> None:
    assert heard.member.ready.is_set()
    heard.say(event="beat")
    assert heard.events == [], "what the member itself has use for"
    heard.say(event="broker_ended", broker=1001)
    heard.say(event="broker_restarted", broker=1001, pid=13)
    assert [event["event"] for event in heard.events] == ["broker_ended", "broker_restarted"]
    assert [core["pid"] for core in heard.member.facts["brokers"]] == [11, 13]


def test_a_core_that_has_left_is_not_among_the_brokers(heard: Heard) -> None:
    heard.say(event="broker_left", broker=1001, message="Broker 1001 is drained and gone.")
    assert [core["node_id"] for core in heard.member.facts["brokers"]] == [1]


def test_a_machine_that_died_leaves_no_core_behind() -> None:
    """One that hangs would hold its port and its log dir for ever: nobody is left to see it."""
    heard = Heard()

    async def die() -> None:
        script = "sleep 600 >/dev/null 2>&1 </dev/null & echo core $!; kill -9 $$"
        await heard.member.start(MemberCommand(["sh", "-c", script], {}))
        assert await asyncio.wait_for(heard.member.ended(), 10) == -9
        core = int(heard.lines[0].split()[1])
        for _ in range(200):
            if not is_running(core):
                return
            await asyncio.sleep(0.05)
        os.kill(core, signal.SIGKILL)
        pytest.fail("the core still runs")

    asyncio.run(die())


def is_running(pid: int) -> bool:
    """Nor a zombie, where nothing reaps orphans."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in ("", "Z")


def test_a_machine_that_killed_a_core_did_not_stop_cleanly(heard: Heard) -> None:
    heard.say(event="stopped", seconds=1.0)
    assert heard.member.stopped_cleanly
    heard.say(event="stopped", seconds=1.0, clean=False)
    assert not heard.member.stopped_cleanly


def test_what_is_no_event_is_a_line_of_the_log(heard: Heard) -> None:
    heard.member._on_event("Fatal Python error")
    assert heard.lines == ["Fatal Python error"]
