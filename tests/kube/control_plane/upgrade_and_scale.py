"""The chart on a real control plane under load: installed, upgraded, scaled from three brokers to five and
back.

`make kube-test` runs it; the API server takes too long to build for every run of the tests. What is real:
helm, the API server with its admission, the controllers of StatefulSets and disruption budgets, the
scheduler, the brokers and their clients. What is not: the kubelet, containers and DNS, in whose place is
`kubelet.py`.
"""

import sys

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.chaos.crowd import Crowd
from tests.kube.control_plane.api import Item, Refused
from tests.kube.control_plane.release import NAMESPACE, Release, eventually
from tidelog.testing.history import Completion
from tools.manifests import values_file

pytestmark = pytest.mark.timeout(900)
PARTITIONS = 6


def test_install_upgrade_and_scale(release: Release) -> None:
    for values in ("secured", "single", "external", "node-ports"):
        release.helm("install", more=("--dry-run=server", "--values", str(values_file(values))))
    release.helm("install")
    release.until_rolled_out(3)
    release.tidelog("cluster", "status", "--wait", "60")
    rows = release.json("cluster", "brokers")
    assert [row["id"] for row in rows] == [0, 1, 2]
    assert sorted(row["rack"] for row in rows) == ["zone-a", "zone-b", "zone-c"]

    create_topic(release, "t")
    crowd = Crowd(release, [("t", index) for index in range(PARTITIONS)])  # type: ignore[arg-type]
    try:
        crowd.start()
        crowd.until_writing()
        upgrade(release, crowd)
        one_disruption_at_a_time(release)
        crowd.until_writing()
        scale_out(release)
        crowd.until_writing()
        scale_in(release)
        crowd.until_writing()
        enlarge_volumes(release)
        crowd.until_writing()
        crowd.finish()
    finally:
        crowd.abandon()
    problems = crowd.problems()
    assert not problems, "\n".join(problems[:20])
    assert crowd.count(Completion.INFO) == 0, "no request fails"
    sys.stdout.write(f"{crowd.summary()}\n")
    codes = {(event.pod, event.detail) for event in release.kubelet.machine.events if event.what == "stopped"}
    assert all(code == "0" for _, code in codes), codes
    assert not [
        event for event in release.kubelet.machine.events if event.what in {"crashed", "pre-stop timed out"}
    ]


def create_topic(release: Release, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": release.bootstrap_servers})
    admin.create_topics([NewTopic(name, PARTITIONS, 3)])[name].result(60)


def upgrade(release: Release, crowd: Crowd) -> None:
    """Another image: the brokers are replaced from the last to the first, each once the others are whole."""
    first = len(release.kubelet.machine.events)
    release.helm("upgrade", "image.tag=next")
    release.until_rolled_out(3)
    crowd.until_writing()
    release.tidelog("cluster", "status", "--wait", "60")
    events = release.kubelet.machine.events[first:]
    started = [(event.pod, event.detail) for event in events if event.what == "started"]
    assert started == [(f"tidelog-{number}", "tidelog:next") for number in (2, 1, 0)]
    allowed = release.kubelet.machine.details("may stop", first)
    assert len(allowed) == 3
    assert all(text.startswith("0 ") for text in allowed), allowed
    away: set[str] = set()
    for event in events:
        if event.what == "pre-stop":
            away.add(event.pod)
        elif event.what == "ready":
            away.discard(event.pod)
        assert len(away) <= 1, f"two brokers are away at once: {away}"


def one_disruption_at_a_time(release: Release) -> None:
    """As when nodes are drained: the budget lets one broker go, and refuses the second until it is back."""

    def evict(pod: str) -> None:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        release.plane.api.post(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/eviction", eviction)

    budget = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/tidelog"

    def allows_one() -> bool:
        return bool(release.plane.api.get(budget)["status"].get("disruptionsAllowed") == 1)

    eventually(allows_one, lambda: str(release.plane.api.get(budget)["status"]))
    evict("tidelog-1")
    with pytest.raises(Refused) as caught:
        evict("tidelog-2")
    assert caught.value.code == 429
    eventually(lambda: not allows_one(), lambda: "the eviction is seen")
    eventually(allows_one, lambda: "\n".join(release.what_is_missing()))
    release.until_rolled_out(3)
    release.tidelog("cluster", "status", "--wait", "60")


def scale_out(release: Release) -> None:
    first = len(release.kubelet.machine.events)
    release.helm("upgrade", "replicas=5")
    release.until_rolled_out(5)
    started = {event.pod for event in release.kubelet.machine.events[first:] if event.what == "started"}
    assert started == {"tidelog-3", "tidelog-4"}, "the others are not restarted"
    release.tidelog("cluster", "rebalance")
    rows = release.json("cluster", "brokers")
    assert [row["id"] for row in rows] == [0, 1, 2, 3, 4]
    assert min(row["replicas"] for row in rows) > 0
    assert [row["id"] for row in rows if row["voter"]] == [0, 1, 2]
    nodes = [pod["spec"]["nodeName"] for pod in pods(release)]
    assert len(set(nodes)) == 5, "no two brokers on one node"


def scale_in(release: Release) -> None:
    release.tidelog("cluster", "drain", "4", "3")
    first = len(release.kubelet.machine.events)
    release.helm("upgrade", "replicas=3")
    release.until_rolled_out(3)
    eventually(lambda: len(pods(release)) == 3, lambda: "the pods are gone")
    stopped = {event.pod for event in release.kubelet.machine.events[first:] if event.what == "stopped"}
    assert stopped == {"tidelog-3", "tidelog-4"}
    release.tidelog("cluster", "status", "--wait", "60")
    rows = release.json("cluster", "brokers")
    assert [row["id"] for row in rows] == [0, 1, 2], "a drained broker that stops is forgotten"
    assert all(row["voter"] for row in rows)
    claims = release.plane.api.items(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims")
    assert len(claims) == 5, "volumes stay"


def enlarge_volumes(release: Release) -> None:
    """As docs/kubernetes.md says: the StatefulSet is made anew around its pods, which go on."""
    first = len(release.kubelet.machine.events)
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/tidelog"
    release.plane.api.delete(path, {"propagationPolicy": "Orphan"})

    def is_gone() -> bool:
        try:
            release.plane.api.get(path)
        except Refused as error:
            return error.code == 404
        return False

    eventually(is_gone, lambda: "the StatefulSet is deleted")
    release.helm("upgrade", "persistence.size=200Gi")
    release.until_rolled_out(3)
    [template] = release.stateful_set["spec"]["volumeClaimTemplates"]
    assert template["spec"]["resources"]["requests"]["storage"] == "200Gi"
    assert release.kubelet.machine.events[first:] == [], "no broker is restarted"


def pods(release: Release) -> list[Item]:
    return release.plane.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
