"""The chart on a real control plane under load: installed, upgraded, scaled from three brokers to five and
back.

`make kube-test` runs it; the API server takes too long to build for every run of the tests. What is real:
helm, the API server with its admission, the controllers of StatefulSets and disruption budgets, the
scheduler, the brokers and their clients. What is not: the kubelet, containers and DNS, in whose place is
`kubelet.py`.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.chaos.crowd import Crowd
from tests.kube.control_plane.api import Item, Refused
from tests.kube.control_plane.control_plane import ControlPlane
from tests.kube.control_plane.kubelet import Kubelet
from tidelog.testing.history import Completion
from tools.kube_tools import CONTROL_PLANE, find_tool
from tools.manifests import CHART, ROOT, values_file

pytestmark = pytest.mark.timeout(900)
NAMESPACE = "tidelog"
STRICTEST = {"pod-security.kubernetes.io/enforce": "restricted"}
PARTITIONS = 6
PATIENCE_S = 180.0
SET = (
    *("probes.startup.periodSeconds=1", "probes.readiness.periodSeconds=1"),
    *("resources.requests.cpu=100m", "resources.requests.memory=256Mi", "minReadySeconds=1"),
    *("settings.durability=os", "settings.offsets\\.topic\\.num\\.partitions=4"),
    *("stopping.waitSeconds=60", "stopping.terminationGracePeriodSeconds=120"),
)


def eventually(is_so: Callable[[], bool], what: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, what()
        time.sleep(0.3)


class Cluster:
    """The release in its namespace; for its clients, a cluster like that of the chaos tests."""

    def __init__(self, plane: ControlPlane, kubelet: Kubelet) -> None:
        self.plane, self.kubelet = plane, kubelet
        self.values: tuple[str, ...] = SET

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{self.kubelet.address_of(ordinal)}:9092" for ordinal in range(3))

    def what_is_missing(self) -> Iterator[str]:
        yield from map(str, self.kubelet.events[-30:])

    def log_tails(self) -> str:
        return "\n".join(
            f"-- {pod.name}:\n{pod.log_file.read_text()[-1500:]}" for pod in self.kubelet.pods.values()
        )

    def helm(self, verb: str, *values: str, more: tuple[str, ...] = ()) -> None:
        self.values += values
        chosen = [argument for value in self.values for argument in ("--set", value)]
        command = [str(find_tool("helm", ROOT)), verb, "tidelog", str(CHART), "-n", NAMESPACE, *chosen, *more]
        environment = {**os.environ, "KUBECONFIG": str(self.plane.kubeconfig)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    @property
    def stateful_set(self) -> Item:
        return self.plane.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/tidelog")

    def until_rolled_out(self, replicas: int) -> None:
        """As `kubectl rollout status`, and nothing is left of what was scaled away."""

        def is_rolled_out() -> bool:
            found = self.stateful_set
            status, generation = found["status"], found["metadata"]["generation"]
            counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
            is_seen = status.get("observedGeneration") == generation
            is_new = status.get("currentRevision") == status.get("updateRevision")
            return is_seen and is_new and counts == [replicas] * 3

        eventually(is_rolled_out, lambda: "\n".join(self.what_is_missing()) + self.log_tails())

    def tidelog(self, *arguments: str) -> str:
        done = self.kubelet.running("tidelog-0").exec("tidelog", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.tidelog(*arguments, "--json"))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    plane = ControlPlane(ROOT / CONTROL_PLANE, tmp_path / "control-plane")
    kubelet = Kubelet(plane.api, NAMESPACE, tmp_path / "pods")
    try:
        plane.start()
        plane.api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": STRICTEST}})
        for number in range(6):
            plane.add_node(f"node-{number}", f"zone-{'abc'[number % 3]}")
        for number in range(5):
            plane.add_volume(f"volume-{number}", tmp_path / "volumes" / str(number))
        kubelet.start()
        yield Cluster(plane, kubelet)
    finally:
        kubelet.stop()
        plane.stop()


def test_install_upgrade_and_scale(cluster: Cluster) -> None:
    for values in ("secured", "single", "external", "node-ports"):
        cluster.helm("install", more=("--dry-run=server", "--values", str(values_file(values))))
    cluster.helm("install")
    cluster.until_rolled_out(3)
    cluster.tidelog("cluster", "status", "--wait", "60")
    rows = cluster.json("cluster", "brokers")
    assert [row["id"] for row in rows] == [0, 1, 2]
    assert sorted(row["rack"] for row in rows) == ["zone-a", "zone-b", "zone-c"]

    create_topic(cluster, "t")
    crowd = Crowd(cluster, [("t", index) for index in range(PARTITIONS)])  # type: ignore[arg-type]
    try:
        crowd.start()
        crowd.until_writing()
        upgrade(cluster, crowd)
        one_disruption_at_a_time(cluster)
        crowd.until_writing()
        scale_out(cluster)
        crowd.until_writing()
        scale_in(cluster)
        crowd.until_writing()
        crowd.finish()
    finally:
        crowd.abandon()
    problems = crowd.problems()
    assert not problems, "\n".join(problems[:20])
    assert crowd.count(Completion.INFO) == 0, "no request fails"
    sys.stdout.write(f"{crowd.summary()}\n")
    codes = {(event.pod, event.detail) for event in cluster.kubelet.events if event.what == "stopped"}
    assert all(code == "0" for _, code in codes), codes
    assert not [event for event in cluster.kubelet.events if event.what in {"crashed", "pre-stop timed out"}]


def create_topic(cluster: Cluster, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(name, PARTITIONS, 3)])[name].result(60)


def upgrade(cluster: Cluster, crowd: Crowd) -> None:
    """Another image: the brokers are replaced from the last to the first, each once the others are whole."""
    first = len(cluster.kubelet.events)
    cluster.helm("upgrade", "image.tag=next")
    cluster.until_rolled_out(3)
    crowd.until_writing()
    cluster.tidelog("cluster", "status", "--wait", "60")
    events = cluster.kubelet.events[first:]
    started = [(event.pod, event.detail) for event in events if event.what == "started"]
    assert started == [(f"tidelog-{number}", "tidelog:next") for number in (2, 1, 0)]
    allowed = [event.detail for event in events if event.what == "may stop"]
    assert len(allowed) == 3
    assert all(text.startswith("0 ") for text in allowed), allowed
    away: set[str] = set()
    for event in events:
        if event.what == "pre-stop":
            away.add(event.pod)
        elif event.what == "ready":
            away.discard(event.pod)
        assert len(away) <= 1, f"two brokers are away at once: {away}"


def one_disruption_at_a_time(cluster: Cluster) -> None:
    """As when nodes are drained: the budget lets one broker go, and refuses the second until it is back."""

    def evict(pod: str) -> None:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        cluster.plane.api.post(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/eviction", eviction)

    budget = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/tidelog"

    def allows_one() -> bool:
        return bool(cluster.plane.api.get(budget)["status"].get("disruptionsAllowed") == 1)

    eventually(allows_one, lambda: str(cluster.plane.api.get(budget)["status"]))
    evict("tidelog-1")
    with pytest.raises(Refused) as caught:
        evict("tidelog-2")
    assert caught.value.code == 429
    eventually(lambda: not allows_one(), lambda: "the eviction is seen")
    eventually(allows_one, lambda: "\n".join(cluster.what_is_missing()))
    cluster.until_rolled_out(3)
    cluster.tidelog("cluster", "status", "--wait", "60")


def scale_out(cluster: Cluster) -> None:
    first = len(cluster.kubelet.events)
    cluster.helm("upgrade", "replicas=5")
    cluster.until_rolled_out(5)
    started = {event.pod for event in cluster.kubelet.events[first:] if event.what == "started"}
    assert started == {"tidelog-3", "tidelog-4"}, "the others are not restarted"
    cluster.tidelog("cluster", "rebalance")
    rows = cluster.json("cluster", "brokers")
    assert [row["id"] for row in rows] == [0, 1, 2, 3, 4]
    assert min(row["replicas"] for row in rows) > 0
    assert [row["id"] for row in rows if row["voter"]] == [0, 1, 2]
    nodes = [pod["spec"]["nodeName"] for pod in pods(cluster)]
    assert len(set(nodes)) == 5, "no two brokers on one node"


def scale_in(cluster: Cluster) -> None:
    cluster.tidelog("cluster", "drain", "4", "3")
    first = len(cluster.kubelet.events)
    cluster.helm("upgrade", "replicas=3")
    cluster.until_rolled_out(3)
    eventually(lambda: len(pods(cluster)) == 3, lambda: "the pods are gone")
    stopped = {event.pod for event in cluster.kubelet.events[first:] if event.what == "stopped"}
    assert stopped == {"tidelog-3", "tidelog-4"}
    cluster.tidelog("cluster", "status", "--wait", "60")
    rows = cluster.json("cluster", "brokers")
    assert [row["id"] for row in rows] == [0, 1, 2], "a drained broker that stops is forgotten"
    assert all(row["voter"] for row in rows)
    claims = cluster.plane.api.items(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims")
    assert len(claims) == 5, "volumes stay"


def pods(cluster: Cluster) -> list[Item]:
    return cluster.plane.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
