"""`python -m tests.chaos.failover_times`: how long producers wait when their partition's leader is killed.

Told apart: until the controller notices, and from then until the next record is acknowledged. With the
default settings, and with those of the chaos tests; with the controller alive, and killed too.
"""

import argparse
import re
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import median

from tests.chaos.process_cluster import PATIENCE_S, SOON_NOTICED, ProcessCluster
from tests.chaos.recorded_clients import Record, RecordedProducer
from tests.chaos.victim import wait_until

TOPIC = "t"
NOTICED = re.compile(r"^(\S+ \S+) WARNING broker.controller broker (\d+) sent no heartbeat for", re.MULTILINE)


def main() -> None:
    rounds = _options().rounds
    print(f"{'settings':<10}{'killed':<26}{'noticed after':>15}{'go on after that':>18}{'in all':>9}")
    for name, settings in (("short", {}), ("default", dict.fromkeys(SOON_NOTICED))):
        with tempfile.TemporaryDirectory() as directory:
            cluster = ProcessCluster(Path(directory), settings=settings)
            try:
                _measure(name, cluster, rounds)
            finally:
                cluster.end()


def _measure(name: str, cluster: ProcessCluster, rounds: int) -> None:
    cluster.start()
    cluster.create_topic(TOPIC, 1)
    producer = RecordedProducer(Record(), cluster.bootstrap_servers, [(TOPIC, 0)], sends_per_second=200)
    producer.start()
    try:
        for is_controller in (False, True):
            times = [_one(cluster, producer, is_controller) for _ in range(rounds)]
            noticed, after, whole = (median(column) for column in zip(*times, strict=True))
            who = "leader and controller" if is_controller else "leader"
            print(f"{name:<10}{who:<26}{noticed:>13.2f} s{after:>16.2f} s{whole:>7.2f} s", flush=True)
    finally:
        producer.finish()


def _one(
    cluster: ProcessCluster, producer: RecordedProducer, is_controller: bool
) -> tuple[float, float, float]:
    """Seconds until it was noticed, from then until the producer went on, and both."""
    leader = _until_led_by(cluster, is_controller)
    wait_until(lambda: time.monotonic() - producer.last_ok < 0.1, "the producer writes", PATIENCE_S)
    told_before = {id: len(member.log_text()) for id, member in cluster.members.items()}
    killed_at = time.time()
    cluster.members[leader].kill()
    last = producer.last_ok
    wait_until(lambda: producer.last_ok > last + 0.5, "the producer goes on", PATIENCE_S)
    went_on_at = time.time()
    noticed = [
        datetime.fromisoformat(when).astimezone().timestamp()
        for id, member in cluster.members.items()
        for when, who in NOTICED.findall(member.log_text()[told_before[id] :])
        if int(who) == leader
    ]
    cluster.heal()
    cluster.until_ready()
    cluster.until_whole()
    return noticed[0] - killed_at, went_on_at - noticed[0], went_on_at - killed_at


def _until_led_by(cluster: ProcessCluster, is_controller: bool) -> int:
    """Restart brokers until the partition is led by the controller, or by another broker, as wanted."""
    for _ in range(20):
        seen = cluster.seen()
        assert seen is not None
        leader = seen.topics[TOPIC].partitions[0].leader
        if (leader == seen.controller_id) is is_controller:
            return int(leader)
        member = cluster.members[seen.controller_id]  # it hands over both, each to somebody
        member.terminate()
        member.start(PATIENCE_S)
        cluster.until_whole()
    raise RuntimeError("the leader and the controller did not come together")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of each kind; the median is shown")
    return parser.parse_args()


if __name__ == "__main__":
    main()
