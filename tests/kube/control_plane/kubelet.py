"""A kubelet of the tests: pods that are scheduled become processes on this machine."""

import contextlib
import http.client
import threading
from collections.abc import Iterator

from tests.kube.control_plane.api import Item
from tests.kube.control_plane.machine import Machine
from tests.kube.control_plane.running_pod import RunningPod

LOOK_S = 0.2


class Kubelet:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._pods: dict[str, RunningPod] = {}  # by uid
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelet", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        for pod in self._pods.values():
            pod.kill()

    def running(self, name: str) -> RunningPod:
        [found] = [pod for pod in self._pods.values() if pod.name == name and pod.is_alive()]
        return found

    def log_tails(self) -> Iterator[str]:
        for pod in self._pods.values():
            yield f"-- {pod.name}:\n{pod.log_file.read_text()[-1500:]}"

    def _run(self) -> None:
        path = f"/api/v1/namespaces/{self.machine.namespace}/pods"
        while not self._stopping.wait(LOOK_S):
            with contextlib.suppress(OSError, http.client.HTTPException):
                for item in self.machine.api.items(path):
                    self._look_at(item)

    def _look_at(self, item: Item) -> None:
        uid = item["metadata"]["uid"]
        is_leaving = "deletionTimestamp" in item["metadata"]
        if uid in self._pods:
            if is_leaving:
                self._pods[uid].leave(item["metadata"]["deletionGracePeriodSeconds"])
        elif item["spec"].get("nodeName") and not is_leaving:
            self._pods[uid] = RunningPod(self.machine, item)
            self._pods[uid].start()
