"""What copying costs by the number of leaders: the same requests to 1, 2 and 4 of them.

Two followers copy everything. The more leaders, the fewer records a round brings: a round is a follower's
fetch, the leader's answer, and the append. First at steady rates, with requests at random times as from many
producers, where nearly each round wakes both sides; then as fast as answers come, where brokers are busy and
find several things to do in a turn. What the brokers take without any load is subtracted.
"""

import random
import socket
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from benches.rig.cluster_process import Address, RunningCluster, running_cluster
from benches.rig.frames import batch_of, call, produce_frame
from benches.rig.load import Load, answer_size, connect, replay
from benches.rig.report import show
from benches.scaling.fitted import line
from benches.versus.processes import cpu_seconds
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)

BROKERS, FOLLOWERS, LEADERS, PARTITIONS = 6, [5, 6], (1, 2, 4), 4
RATES = (200, 600, 1_500)
IN_FLIGHT = {"os": (1, 4, 16), "fsync": (4, 16)}
COUNT = {"os": 12_000, "fsync": 4_000}
"""For the runs at full speed: requests that are unanswered on each of a leader's four connections."""
SIZE = 1024
SECONDS, SETTLED_SECONDS = 6.0, 2.0
SETTINGS = {"schema.registry.port": "0"}


class Used(NamedTuple):
    leaders_us: float
    followers_us: float
    """CPU for each request, of all leaders and of all followers."""
    rounds: float
    """Of each follower, for each request."""
    rate: float


def main() -> None:
    random.seed(1)
    for durability in ("os", "fsync"):
        with running_cluster(SETTINGS | {"durability": durability}, BROKERS) as cluster:
            for leaders in LEADERS:
                create(cluster, leaders)
            time.sleep(5)
            if durability == "os":
                steadily(cluster)
            at_full_speed(cluster, durability)


def steadily(cluster: RunningCluster) -> None:
    for leaders in LEADERS:
        for rate in RATES:
            used = measure(cluster, leaders, partial(send, cluster, leaders, rate))
            print_used(f"{rate} requests/s", leaders, used)


def at_full_speed(cluster: RunningCluster, durability: str) -> None:
    points = []
    for leaders in LEADERS:
        for window in IN_FLIGHT[durability]:
            used = measure(cluster, leaders, partial(hurry, cluster, leaders, window, COUNT[durability]))
            print_used(f"{durability}, full speed, {4 * window * leaders} in flight", leaders, used)
            points.append((used.rounds, used.followers_us / len(FOLLOWERS), used.leaders_us))
    follower, leader = line([(x, y) for x, y, _ in points]), line([(x, y) for x, _, y in points])
    name = f"{durability}, full speed"
    show(f"{name}: a follower's CPU for a round", follower.slope, "us")
    show(f"{name}: and for each request copied in it", follower.base, "us")
    show(f"{name}: a leader's CPU for a round of one follower", leader.slope / len(FOLLOWERS), "us")
    show(f"{name}: and for each request", leader.base, "us")


def print_used(what: str, leaders: int, used: Used) -> None:
    name = f"{what}, {leaders} leader{'s' * (leaders > 1)}"
    show(f"{name}: sent", used.rate, "a second")
    show(f"{name}: rounds of a follower", used.rounds, "a request")
    show(f"{name}: CPU of the leaders", used.leaders_us, "us a request")
    show(f"{name}: CPU of a follower", used.followers_us / len(FOLLOWERS), "us a request")


def create(cluster: RunningCluster, leaders: int) -> None:
    assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=[index % leaders + 1, *FOLLOWERS])
        for index in range(PARTITIONS)
    ]
    topic = CreatableTopic(
        name=f"to-{leaders}", num_partitions=-1, replication_factor=-1, assignments=assignments
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    [made] = call(cluster.address, ApiKey.CREATE_TOPICS, 7, request).topics
    if made.error_code:
        raise RuntimeError(made.error_message)


def measure(cluster: RunningCluster, leaders: int, work: Callable[[], int]) -> Used:
    pids = {int(one["node_id"]): int(one["pid"]) for one in cluster.facts["brokers"]}
    resting = _busy(pids, SETTLED_SECONDS)
    led = range(1, leaders + 1)
    rounds = sum(fetches(cluster.facts["metrics"][id - 1]) for id in led)
    before = {id: cpu_seconds([pid]) for id, pid in pids.items()}
    began = time.perf_counter()
    sent = work()
    seconds = time.perf_counter() - began
    used = {id: cpu_seconds([pid]) - before[id] - resting[id] * seconds for id, pid in pids.items()}
    rounds = sum(fetches(cluster.facts["metrics"][id - 1]) for id in led) - rounds
    return Used(
        sum(used[id] for id in led) / sent * 1e6,
        sum(used[id] for id in FOLLOWERS) / sent * 1e6,
        rounds / len(FOLLOWERS) / sent,
        sent / seconds,
    )


def targets(cluster: RunningCluster, leaders: int) -> list[tuple[int, bytes]]:
    """The port of each partition's leader, and a request for it."""
    ports = {int(one["node_id"]): int(one["port"]) for one in cluster.facts["brokers"]}
    batch = batch_of(SIZE)
    return [
        (ports[index % leaders + 1], produce_frame(f"to-{leaders}", batch, partition=index, acks=-1))
        for index in range(PARTITIONS)
    ]


def hurry(cluster: RunningCluster, leaders: int, window: int, count: int) -> int:
    """As fast as answers come; how many requests were sent."""
    frames: dict[int, list[bytes]] = {}
    for port, frame in targets(cluster, leaders):
        frames.setdefault(port, []).append(frame)
    loads = [
        (
            _local(port),
            Load(b"".join(some), count // leaders, answer_size(_local(port), some[0]), 4, window, len(some)),
        )
        for port, some in frames.items()
    ]
    with ThreadPoolExecutor(leaders) as threads:
        return sum(done.requests for done in threads.map(lambda load: replay(*load), loads))


def _busy(pids: dict[int, int], seconds: float) -> dict[int, float]:
    before = {id: cpu_seconds([pid]) for id, pid in pids.items()}
    time.sleep(seconds)
    return {id: (cpu_seconds([pid]) - before[id]) / seconds for id, pid in pids.items()}


def send(cluster: RunningCluster, leaders: int, rate: int) -> int:
    """At random moments; how many requests were sent, each to a partition drawn at random."""
    choices = targets(cluster, leaders)
    socks = {port: connect(_local(port)) for port, _ in choices}
    for sock in socks.values():
        sock.setblocking(False)
    sent, due, end = 0, time.perf_counter(), time.perf_counter() + SECONDS
    while due < end:
        port, frame = random.choice(choices)
        time.sleep(max(0.0, due - time.perf_counter()))
        if socks[port].send(frame) != len(frame):
            raise RuntimeError("the broker does not keep up with the rate")
        sent += 1
        due += random.expovariate(rate)
        _drain(socks[port])
    time.sleep(0.1)
    for sock in socks.values():
        _drain(sock)
        sock.close()
    return sent


def _drain(sock: socket.socket) -> None:
    try:
        while sock.recv(65536):
            pass
        raise ConnectionError("the broker closed the connection")
    except BlockingIOError:
        pass


def fetches(metrics: str) -> int:
    """Fetch requests that a broker has answered: without consumers, all of them are followers'."""
    with urllib.request.urlopen(metrics) as answer:
        page = answer.read().decode()
    name = 'tidelog_requests_total{api="Fetch"} '
    return int(float(next(line for line in page.splitlines() if line.startswith(name))[len(name) :]))


def _local(port: int) -> Address:
    return "127.0.0.1", port
