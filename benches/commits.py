"""What an offset commit costs a whole broker, over sockets: `python -m benches.commits [--rounds N]`.

Prebuilt frames from another process, one partition a commit, for groups without members.
"""

import argparse

from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import create_topic, frame
from benches.rig.load import Load, answer_size, replay
from benches.rig.report import machine, show
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

COUNT = 20_000
COMMITS_A_SECOND = 20_000


def commit_frame() -> bytes:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1_234_567)
    topic = OffsetCommitRequestTopic(name="bench", partitions=[partition])
    return frame(ApiKey.OFFSET_COMMIT, 8, OffsetCommitRequest(group_id="readers", topics=[topic]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(machine())
    for durability in ("os", "fsync"):
        with BrokerProcess({"durability": durability}) as broker:
            create_topic(broker.address, "bench")
            find = FindCoordinatorRequest(coordinator_keys=["readers"])
            answer_size(broker.address, frame(ApiKey.FIND_COORDINATOR, 4, find))
            request = commit_frame()
            answer = answer_size(broker.address, request)
            load = Load(request, COUNT, answer, connections=4, window=64)
            best = (float("inf"), float("inf"))
            for _ in range(rounds):
                before = broker.cpu_seconds()
                wall = replay(broker.address, load).seconds
                best = min(best, (broker.cpu_seconds() - before, wall))
            cpu = best[0] / COUNT * 1e6
            show(
                f"offset commit, durability {durability}: broker CPU",
                cpu,
                "us",
                at_most=1e6 / COMMITS_A_SECOND,
            )
            show(
                f"offset commits, durability {durability}",
                COUNT / best[1],
                "a second",
                at_least=COMMITS_A_SECOND,
            )


if __name__ == "__main__":
    main()
