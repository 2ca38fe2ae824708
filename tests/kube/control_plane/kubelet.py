"""A kubelet of the tests: pods that are scheduled become processes on this machine, with their environment
and files, their probes, their pre-stop hook and their grace period.

Each pod has an address of its own in 127.0.0.0/8, at which it has its ports. In place of DNS the names of
pods become their addresses, and 0.0.0.0 the pod's own, wherever they stand in variables and files.
"""

import contextlib
import http.client
import os
import random
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.interop.broker_process import console_script
from tests.interop.fleet_process import clean_environment
from tests.kube.control_plane.api import Api, Item, Refused

LOOK_S = 0.2
NAME = re.compile(r"([a-z0-9-]+-([0-9]+))\.[a-z0-9-]+\.[a-z0-9-]+\.svc\.cluster\.local")


@dataclass(frozen=True, slots=True)
class Event:
    at: float
    pod: str
    what: str
    detail: str = ""


@dataclass
class Kubelet:
    api: Api
    namespace: str
    directory: Path
    network: int = field(default_factory=lambda: random.SystemRandom().randrange(2, 250))
    events: list[Event] = field(default_factory=list)
    pods: dict[str, "RunningPod"] = field(default_factory=dict)
    """By uid."""
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="kubelet", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        for pod in self.pods.values():
            pod.kill()

    def address_of(self, ordinal: int) -> str:
        return f"127.{self.network}.0.{10 + ordinal}"

    def note(self, pod: str, what: str, detail: str = "") -> None:
        self.events.append(Event(time.monotonic(), pod, what, detail))

    def running(self, name: str) -> "RunningPod":
        [found] = [pod for pod in self.pods.values() if pod.name == name and pod.is_alive()]
        return found

    def _run(self) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        while not self._stopping.wait(LOOK_S):
            with contextlib.suppress(OSError, http.client.HTTPException):
                for item in self.api.items(path):
                    self._look_at(item)

    def _look_at(self, item: Item) -> None:
        uid = item["metadata"]["uid"]
        is_leaving = "deletionTimestamp" in item["metadata"]
        if uid in self.pods:
            if is_leaving:
                self.pods[uid].leave(item["metadata"]["deletionGracePeriodSeconds"])
        elif item["spec"].get("nodeName") and not is_leaving:
            self.pods[uid] = RunningPod(self, item)
            self.pods[uid].start()


class RunningPod(threading.Thread):
    """The one container of a pod as a process, from its start to its end."""

    def __init__(self, kubelet: Kubelet, item: Item) -> None:
        super().__init__(name=item["metadata"]["name"], daemon=True)
        self._kubelet, self._item = kubelet, item
        [self._container] = item["spec"]["containers"]
        self._ordinal = int(item["metadata"]["labels"]["apps.kubernetes.io/pod-index"])
        self.address = kubelet.address_of(self._ordinal)
        self._leaving = threading.Event()
        self._is_killed = False
        self._grace_s = 0.0
        self._directory = kubelet.directory / f"{self.name}-{item['metadata']['uid'][:8]}"
        self.log_file = self._directory / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def leave(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._leaving.set()

    def kill(self) -> None:
        self._is_killed = True
        self._leaving.set()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def exec(self, *command: str, timeout_s: float = 120) -> "subprocess.CompletedProcess[str]":
        """As `kubectl exec`."""
        assert command[0] == "tidelog"
        return subprocess.run(
            [console_script(), *(self._here(text) for text in command[1:])],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def run(self) -> None:
        self._directory.mkdir(parents=True)
        self._mounts = self._mount()
        self._environment = clean_environment() | self._variables()
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [console_script(), *self._container["args"]],
                env=self._environment,
                cwd=self._directory,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._kubelet.note(self.name, "started", self._container["image"])
        has_started = is_ready = False
        self._report(started=False, ready=False)
        while not self._leaving.is_set() and self._process.poll() is None:
            probe = self._container["readinessProbe" if has_started else "startupProbe"]
            passed = self._passes(probe)
            if not has_started and passed:
                has_started = True
            elif has_started and passed != is_ready:
                is_ready = passed
                self._kubelet.note(self.name, "ready" if is_ready else "not ready")
                self._report(started=True, ready=is_ready)
            self._leaving.wait(probe["periodSeconds"])
        if self._is_killed:
            return
        if self._leaving.is_set():
            self._end()
        else:
            self._kubelet.note(self.name, "crashed", str(self._process.returncode))

    def _end(self) -> None:
        assert self._process is not None
        began = time.monotonic()
        hook = self._container["lifecycle"]["preStop"]["exec"]["command"]
        self._kubelet.note(self.name, "pre-stop")
        try:
            done = self.exec(*hook, timeout_s=self._grace_s)
            self._kubelet.note(self.name, "may stop", f"{done.returncode} {done.stdout}{done.stderr}")
        except subprocess.TimeoutExpired:
            self._kubelet.note(self.name, "pre-stop timed out")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGTERM)
        try:
            code = self._process.wait(max(2.0, self._grace_s - (time.monotonic() - began)))
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._kubelet.note(self.name, "stopped", str(code))
        own = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._item["metadata"]["uid"]}}
        self._kubelet.api.delete(self._path, own)

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self._kubelet.namespace}/pods/{self.name}"

    # What the container sees

    def _mount(self) -> dict[str, Path]:
        """The directory behind each path of the container that matters here."""
        of_volume: dict[str, Path] = {}
        for volume in self._item["spec"]["volumes"]:
            if "persistentVolumeClaim" in volume:
                of_volume[volume["name"]] = self._volume(volume["persistentVolumeClaim"]["claimName"])
            elif "configMap" in volume:
                of_volume[volume["name"]] = self._directory / volume["name"]
        mounts = {
            mount["mountPath"]: of_volume[mount["name"]]
            for mount in self._container["volumeMounts"]
            if mount["name"] in of_volume
        }
        self._mounts = mounts
        for volume in self._item["spec"]["volumes"]:
            if "configMap" in volume:
                self._write(of_volume[volume["name"]], volume["configMap"]["name"])
        return mounts

    def _volume(self, claim: str) -> Path:
        found = self._kubelet.api.get(
            f"/api/v1/namespaces/{self._kubelet.namespace}/persistentvolumeclaims/{claim}"
        )
        volume = self._kubelet.api.get(f"/api/v1/persistentvolumes/{found['spec']['volumeName']}")
        path = Path(volume["spec"]["hostPath"]["path"])
        path.mkdir(parents=True, exist_ok=True)
        return path

    def _write(self, directory: Path, name: str) -> None:
        path = f"/api/v1/namespaces/{self._kubelet.namespace}/configmaps/{name}"
        directory.mkdir(parents=True)
        for file, text in self._kubelet.api.get(path)["data"].items():
            (directory / file).write_text(self._here(text))

    def _variables(self) -> dict[str, str]:
        made: dict[str, str] = {}
        for variable in self._container["env"]:
            if "valueFrom" in variable:
                made[variable["name"]] = self._field(variable["valueFrom"]["fieldRef"]["fieldPath"])
            else:
                given = variable.get("value", "")
                made[variable["name"]] = re.sub(r"\$\((\w+)\)", lambda found: made[found[1]], given)
        return {name: self._here(value) for name, value in made.items()}

    def _field(self, path: str) -> str:
        if label := re.fullmatch(r"metadata\.labels\['(.+)'\]", path):
            return str(self._item["metadata"]["labels"].get(label[1], ""))
        assert path == "metadata.name"
        return self.name

    def _here(self, text: str) -> str:
        """Names and paths of the container as they are on this machine."""
        text = NAME.sub(lambda found: self._kubelet.address_of(int(found[2])), text)
        text = text.replace("0.0.0.0", self.address)
        paths = "|".join(re.escape(path) for path in sorted(self._mounts, reverse=True))
        return re.sub(paths, lambda found: str(self._mounts[found[0]]), text)

    # Probes, and what the API hears of them

    def _passes(self, probe: Item) -> bool:
        ports = {port["name"]: port["containerPort"] for port in self._container["ports"]}
        wanted = probe["httpGet"]
        timeout_s = probe["timeoutSeconds"]
        connection = http.client.HTTPConnection(self.address, ports[wanted["port"]], timeout=timeout_s)
        try:
            connection.request("GET", wanted["path"])
            return connection.getresponse().status < 400
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _report(self, *, started: bool, ready: bool) -> None:
        truth = "True" if ready else "False"
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        container: dict[str, Any] = {
            "name": self._container["name"],
            "image": self._container["image"],
            "imageID": self._container["image"],
            "ready": ready,
            "started": started,
            "restartCount": 0,
            "state": {"running": {"startedAt": now}},
        }
        conditions = [
            {"type": kind, "status": truth, "lastTransitionTime": now}
            for kind in ("Ready", "ContainersReady")
        ]
        status = {
            "phase": "Running",
            "podIP": self.address,
            "podIPs": [{"ip": self.address}],
            "startTime": now,
            "conditions": conditions,
            "containerStatuses": [container],
        }
        # A pod that was replaced meanwhile has another uid, and the server refuses.
        with contextlib.suppress(Refused):
            own = {"metadata": {"uid": self._item["metadata"]["uid"]}, "status": status}
            self._kubelet.api.patch(f"{self._path}/status", own)
