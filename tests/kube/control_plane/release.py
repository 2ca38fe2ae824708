"""The chart's release in its namespace; for clients, a cluster like that of the chaos tests."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.kube.control_plane.api import Item
from tests.kube.control_plane.control_plane import ControlPlane
from tests.kube.control_plane.kubelet import Kubelet
from tools.kube_tools import find_tool
from tools.manifests import CHART, ROOT

NAMESPACE = "tidelog"
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


class Release:
    def __init__(self, plane: ControlPlane, kubelet: Kubelet) -> None:
        self.plane, self.kubelet = plane, kubelet
        self.values: tuple[str, ...] = SET

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{self.kubelet.machine.address_of(ordinal)}:9092" for ordinal in range(3))

    def what_is_missing(self) -> Iterator[str]:
        yield from map(str, self.kubelet.machine.events[-30:])

    def log_tails(self) -> str:
        return "\n".join(self.kubelet.log_tails())

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
