"""What groups cost the broker: `python -m benches.groups`. CPU of this process only, best of several runs.

A rebalance of 500 members over 1,000 partitions, offset commits through decide, replay and release, and the
load of a shard. The log itself is not part of it.
"""

import os
import struct
import time
from collections.abc import Callable
from typing import Any

from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.groups.classic.messages import JoinRequest, SyncRequest
from tidelog.groups.offsets.messages import CommitPartition, CommitRequest, CommitTopic
from tidelog.groups.settings import GroupSettings
from tidelog.groups.shard import GroupShard

MEMBERS, PARTITIONS, COMMITS = 500, 1_000, 20_000
NOW_MS = 1_700_000_000_000
SUBSCRIPTION = struct.pack(">hih6si", 1, 1, 6, b"orders", 0) + bytes(4)
PROTOCOLS = (("range", SUBSCRIPTION), ("cooperative-sticky", SUBSCRIPTION))


class SystemRandom:
    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def below(self, limit: int) -> int:
        return int.from_bytes(os.urandom(8), "big") % limit


class Shell:
    """Appends to a list, and commits everything at once."""

    def __init__(self) -> None:
        self.shard = GroupShard(GroupSettings(), SystemRandom())
        self.shard.on_loaded(0.0, NOW_MS)
        self.log: list[StateRecord] = []

    def run(self, decision: ShardDecision[Any]) -> Any:
        if decision.records:
            self.log += decision.records
            self.shard.apply(decision, 0.0, NOW_MS)
        decision.release(0.0, NOW_MS)
        return decision.answer

    def join(self, member_id: str) -> Any:
        request = JoinRequest("g", "consumer", PROTOCOLS, 45_000, 300_000, member_id, client_id="client")
        return self.run(self.shard.join(request, 0.0, NOW_MS))


def assignment(first: int, count: int) -> bytes:
    partitions = struct.pack(f">{count}i", *range(first, first + count))
    return struct.pack(">hih6si", 1, 1, 6, b"orders", count) + partitions + bytes(4)


def rebalance(shell: Shell, ids: list[str]) -> None:
    """The leader rejoins, then all others; each syncs, and is told what it owns."""
    joins = [shell.join(member_id) for member_id in ids]
    generation, leader = joins[0].answer.generation_id, joins[0].answer.leader
    share = PARTITIONS // MEMBERS
    plan = tuple((member_id, assignment(at * share, share)) for at, member_id in enumerate(ids))
    syncs = []
    for member_id in sorted(ids, key=lambda one: one == leader):  # the leader last: everybody waits
        request = SyncRequest("g", member_id, generation, assignments=plan if member_id == leader else ())
        syncs.append(shell.run(shell.shard.sync(request, 0.0, NOW_MS)))
    if not all(sync.done and sync.answer.assignment for sync in syncs):
        raise SystemExit("the rebalance did not end")


def group_of_many() -> tuple[Shell, list[str]]:
    shell = Shell()
    ids = [shell.join("").answer.member_id for _ in range(MEMBERS)]
    for member_id in ids:
        shell.join(member_id)
    rebalance(shell, ids)
    return shell, ids


def commits(shell: Shell, generation: int, ids: list[str]) -> None:
    for at in range(COMMITS):
        topics = (CommitTopic("orders", (CommitPartition(at % PARTITIONS, at, 0, ""),)),)
        request = CommitRequest("g", topics, generation, ids[at % MEMBERS])
        shell.run(shell.shard.commit(request, 0.0, NOW_MS))


def best_ms(call: Callable[[], object], runs: int = 5) -> float:
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best * 1e3


def load(log: list[StateRecord]) -> None:
    shard = GroupShard(GroupSettings(), SystemRandom())
    for key, value in log:
        shard.replay(key, value)
    shard.on_loaded(0.0, NOW_MS)


def main() -> None:
    shell, ids = group_of_many()
    print(f"start of a group of {MEMBERS}: {best_ms(group_of_many, 3):.0f} ms")
    took = best_ms(lambda: rebalance(shell, ids))
    print(f"rebalance of {MEMBERS} members, {PARTITIONS} partitions: {took:.1f} ms")
    print(f"its record: {len(shell.log[-1].value or b''):,} bytes")
    generation = shell.shard.groups["g"].generation
    took = best_ms(lambda: commits(shell, generation, ids))
    print(f"offset commits, one partition each: {COMMITS / took * 1e3:,.0f} a second")
    log = shell.log
    took = best_ms(lambda: load(log))
    print(f"load of {len(log):,} records: {took:.0f} ms, {len(log) / took * 1e3:,.0f} a second")
    shard = shell.shard
    beat = best_ms(lambda: [shard.heartbeat("g", one, None, generation, 1.0, now_ms=1_000) for one in ids])
    print(f"heartbeats: {MEMBERS / beat * 1e3:,.0f} a second")


if __name__ == "__main__":
    main()
