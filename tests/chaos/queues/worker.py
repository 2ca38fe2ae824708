"""A process that is a member of a share group: the simulator's member, on real sockets and the real clock.

It takes, acknowledges, hangs, leaves and comes back as a seed chooses. What it does goes to stdout, an event
a line, first when a request is sent and again with its answer, so that nothing is forgotten when it is
killed; workers.py reads them. `drain` on stdin makes it accept everything, `stop` ends it.
"""

import argparse
import asyncio
import os
import random
import sys
import time

import msgspec

from tidelog.server.peer_connections.peer_network import PeerNetwork
from tidelog.testing.share_history import ShareEvent, ShareGroupPlan, ShareHistory
from tidelog.testing.sim.clients.client import Address, Client
from tidelog.testing.sim.clients.shares.member import SimShareMember
from tidelog.testing.sim.clients.shares.sight import ClockRange, ShareSight
from tidelog.testing.sim.runtime.clock import SimRandom

COMPLAINT = "complaint"
COMPLAIN_S = 0.5


class Journal(ShareHistory):
    """Keeps only what has no answer yet; the rest is written."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[int, int] = {}
        self._last = 0

    def add(self, event: ShareEvent) -> ShareEvent:
        self._last += 1
        self._numbers[id(event)] = self._last
        self.events = [*self.events, event]  # alive, so that no other gets its id
        self._tell(self._last, event)
        return event

    def finished(self, event: ShareEvent) -> None:
        number = self._numbers.pop(id(event), None)
        if number is not None:
            self.events = [one for one in self.events if one is not event]
            self._tell(number, event)

    @staticmethod
    def _tell(number: int, event: ShareEvent) -> None:
        tell([number, event])


def tell(line: object) -> None:
    """In one write: a line is there as a whole, or, when the process is killed, not at all."""
    os.write(sys.stdout.fileno(), msgspec.json.encode(line) + b"\n")


class RealTime:
    """The part of the simulator's loop that a member needs."""

    @property
    def now(self) -> float:
        return time.monotonic()


def _sight() -> ShareSight:
    """Which epoch a broker leads in, `leader_watch.py` finds out; here a broker is its address."""

    def leads(address: Address, topic: str, index: int) -> tuple[str, int]:
        return f"{address[0]}:{address[1]}", 0

    def clocks() -> ClockRange:
        now_ms = time.time_ns() // 1_000_000
        return ClockRange(now_ms, now_ms)

    return ShareSight(leads, clocks)


async def work(options: argparse.Namespace) -> None:
    network = PeerNetwork(SimRandom(options.name))
    bootstrap = [(host, int(port)) for host, _, port in (one.partition(":") for one in options.servers)]
    client = Client(options.name, network, bootstrap, random.Random(options.name))
    plan = msgspec.json.decode(options.plan, type=ShareGroupPlan)
    member = SimShareMember(RealTime(), client, Journal(), _sight(), plan=plan, topics=options.topics)
    beside = [asyncio.create_task(_listen(member)), asyncio.create_task(_complain(member))]
    await member.run()
    await asyncio.sleep(COMPLAIN_S)
    for task in beside:
        task.cancel()
    await network.close()


async def _complain(member: SimShareMember) -> None:
    """Soon: the process may be killed at any time."""
    told = 0
    while True:
        complaints = member.complaints
        for complaint in complaints[told:]:
            tell({COMPLAINT: complaint})
        told = len(complaints)
        await asyncio.sleep(COMPLAIN_S / 2)


async def _listen(member: SimShareMember) -> None:
    """The end of stdin is the end of the test."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while (await reader.readline()).strip() == b"drain":
        member.is_draining = True
    member.is_stopping = True


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=lambda text: text.split(","), required=True)
    parser.add_argument("--topics", type=lambda text: text.split(","), required=True)
    parser.add_argument("--plan", help="of the group, as JSON", required=True)
    parser.add_argument("--name", help="also the seed", required=True)
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(work(parse_options()))
