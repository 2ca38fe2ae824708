"""Makes things go wrong in a cluster of processes, as a seed chooses; and puts them right again.

Each fault is a generator: it breaks something, yields how long that should last, and goes on when it is
resumed. Whatever it leaves broken is healed at the end.
"""

import random
import time
from collections.abc import Generator

from tests.chaos.process_cluster import Member, ProcessCluster

Fault = Generator[float, None, None]

ALONE_ONLY = {"lose_log_dir"}
"""Together with another fault it could lose data, and rightly."""

COORDINATED = ("__share_group_state", "__transaction_state", "__consumer_offsets")

CLOCK_JUMPS_MS = (-1_800_000, -5_000, 5_000, 86_400_000)
"""Back by less than an hour: what clients send would else be refused as of the future."""


class Nemesis:
    def __init__(self, cluster: ProcessCluster, seed: object, *, longest_s: float) -> None:
        self._cluster = cluster
        self._chance = random.Random(f"{seed}")
        self._longest_s = longest_s

    @staticmethod
    def kinds() -> list[str]:
        return [name.removeprefix("do_") for name in vars(Nemesis) if name.startswith("do_")]

    def strike(self, *kinds: str) -> None:
        """Faults that overlap, and their end; what comes back may still be on its way up."""
        faults: list[Fault] = [getattr(self, f"do_{kind}")() for kind in kinds]
        while faults:
            for fault in tuple(faults):
                seconds = next(fault, None)
                if seconds is None:
                    faults.remove(fault)
                else:
                    time.sleep(seconds)
        self._cluster.heal()

    @staticmethod
    def _start(member: Member) -> None:
        """Another fault may have done so meanwhile."""
        if not member.is_running:
            member.kill()  # what ended by itself is forgotten first
            member.launch()

    def _some_time(self) -> float:
        return self._chance.uniform(0.3, 1.0) * self._longest_s

    def _shuffled(self) -> list[Member]:
        members = list(self._cluster.members.values())
        self._chance.shuffle(members)
        return members

    def _ids(self) -> list[int]:
        return [member.node_id for member in self._shuffled()]

    # Processes

    def do_kill_one(self) -> Fault:
        self._shuffled()[0].kill()
        yield self._some_time()

    def do_kill_leader(self) -> Fault:
        """Of the first partition; it comes back before anybody has taken over, at times."""
        self._cluster.holder(self._cluster.leader(self._cluster.topic)).kill()
        yield self._chance.choice((0.0, self._some_time()))

    def do_kill_coordinator(self) -> Fault:
        """Of the state of share groups, of transactions, or of groups where there are neither."""
        seen = self._cluster.seen()
        known = () if seen is None else (topic for topic in COORDINATED if topic in seen.topics)
        topic = next(iter(known), self._cluster.topic)
        self._cluster.holder(self._cluster.leader(topic)).kill()
        yield self._chance.choice((0.0, self._some_time()))

    def do_kill_two(self) -> Fault:
        for member in self._shuffled()[:2]:
            member.kill()
        yield self._some_time()

    def do_kill_all(self) -> Fault:
        for member in self._shuffled():
            member.kill()
        yield 0.0
        for member in self._shuffled():
            self._start(member)
            yield self._chance.uniform(0, 0.5)

    def do_kill_one_after_the_other(self) -> Fault:
        """Before the one before is back in sync."""
        for member in self._shuffled():
            member.kill()
            self._start(member)
            yield self._chance.uniform(0.2, 1.0)

    def do_restart_storm(self) -> Fault:
        """Nobody gets far."""
        for _ in range(6):
            member = self._shuffled()[0]
            member.kill()
            self._start(member)
            yield self._chance.uniform(0.0, 0.6)

    def do_stop_in_order(self) -> Fault:
        member = self._shuffled()[0]
        if member.is_running:
            member.ask_to_stop()
        yield self._some_time()
        member.kill()

    def do_pause_one(self) -> Fault:
        self._shuffled()[0].pause()
        yield self._some_time()

    def do_pause_leader(self) -> Fault:
        """It wakes up and does not know that others have gone on without it."""
        self._cluster.members[self._cluster.leader(self._cluster.topic)].pause()
        yield self._longest_s

    def do_pause_all(self) -> Fault:
        for member in self._shuffled():
            member.pause()
        yield self._some_time()

    # The network

    def do_isolate_one(self) -> Fault:
        alone, *others = self._ids()
        self._cluster.links.cut([alone], others)
        yield self._some_time()
        self._cluster.links.mend(reset=self._chance.random() < 0.5)

    def do_isolate_leader(self) -> Fault:
        alone = self._cluster.leader(self._cluster.topic)
        self._cluster.links.cut([alone], self._cluster.members.keys() - {alone})
        yield self._longest_s
        self._cluster.links.mend(reset=self._chance.random() < 0.5)

    def do_deafen_one(self) -> Fault:
        """It is heard and hears nothing."""
        deaf, *others = self._ids()
        self._cluster.links.cut_one_way(others, [deaf])
        yield self._some_time()
        self._cluster.links.mend(reset=self._chance.random() < 0.5)

    def do_mute_one(self) -> Fault:
        """It hears everything and is not heard."""
        mute, *others = self._ids()
        self._cluster.links.cut_one_way([mute], others)
        yield self._some_time()
        self._cluster.links.mend(reset=self._chance.random() < 0.5)

    def do_cut_one_link(self) -> Fault:
        """Two do not reach each other, and the third reaches both: everybody has a majority."""
        one, other, *_ = self._ids()
        self._cluster.links.cut([one], [other])
        yield self._some_time()
        self._cluster.links.mend(reset=self._chance.random() < 0.5)

    def do_cut_everything(self) -> Fault:
        ids = self._ids()
        for id in ids:
            self._cluster.links.cut([id], [other for other in ids if other != id])
        yield self._some_time()

    def do_slow_one(self) -> Fault:
        self._cluster.links.slow(self._ids()[:1], self._chance.choice((0.05, 0.3)))
        yield self._some_time()

    def do_kill_while_cut_off(self) -> Fault:
        """The others do not even hear its connections end."""
        alone, *others = self._ids()
        self._cluster.links.cut([alone], others)
        yield self._chance.uniform(0.0, 0.5) * self._longest_s
        self._cluster.members[alone].kill()
        yield self._chance.uniform(0.0, 0.5) * self._longest_s
        self._start(self._cluster.members[alone])
        yield self._chance.uniform(0.0, 0.5) * self._longest_s

    # Disks and clocks

    def do_fill_disk(self) -> Fault:
        """Of one that has a disk of its own; a broker that cannot go on ends by itself, and is restarted."""
        small = [member for member in self._shuffled() if member.disk is not None]
        for member in small[:1]:
            assert member.disk is not None
            member.disk.fill()
            yield self._some_time()
            member.disk.free()

    def do_lose_log_dir(self) -> Fault:
        """Only where the others have everything: the second loss would be one of data."""
        self._cluster.heal()
        self._cluster.until_whole()
        member = self._shuffled()[0]
        member.kill()
        yield self._chance.choice((0.0, self._some_time()))
        member.lose_data()
        member.launch()
        member.until_ready()
        self._cluster.until_whole()

    def do_jump_clock(self) -> Fault:
        for member in self._shuffled()[: self._chance.randint(1, 3)]:
            member.set_clock(self._chance.choice(CLOCK_JUMPS_MS))
        yield self._some_time()
        for member in self._shuffled():
            member.set_clock(0)
