"""A real control plane in processes: etcd, kube-apiserver, the controller manager and the scheduler.

Nodes and volumes exist in the API alone; `kubelet.py` runs the pods that are scheduled to them.
"""

import http.client
import secrets
import subprocess
import time
from pathlib import Path

from tests.chaos.peer_links import free_ports
from tests.kube.control_plane.api import Api, Refused

PATIENCE_S = 120.0
CONTROLLERS = (
    *("statefulset", "disruption", "persistentvolume-binder", "namespace", "serviceaccount"),
    *("garbage-collector", "pod-garbage-collector"),
)


class ControlPlane:
    def __init__(self, binaries: Path, directory: Path) -> None:
        self._binaries, self._directory = binaries, directory
        self._processes: list[subprocess.Popen[bytes]] = []
        self._port, self._etcd_port, self._peer_port = free_ports(3)
        self._token = secrets.token_hex(16)
        self.kubeconfig = directory / "kubeconfig"
        self.api = Api(self._port, self._token)
        self.authority = directory / "certificates" / "apiserver.crt"

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._write_files()
        etcd, peers = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        self._run(
            "etcd",
            *("--data-dir", "etcd-data", "--log-level", "error", "--unsafe-no-fsync"),
            *("--listen-client-urls", etcd, "--advertise-client-urls", etcd),
            *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
            *("--initial-cluster", f"default={peers}"),
        )
        self._run(
            "kube-apiserver",
            *("--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", str(self._port)),
            *("--cert-dir", "certificates", "--token-auth-file", "tokens.csv"),
            *("--service-account-key-file", "account.key", "--service-account-signing-key-file"),
            *("account.key", "--service-account-issuer", "https://kubernetes.default.svc"),
            *("--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24"),
            *("--endpoint-reconciler-type", "none"),
        )
        self._until_ready()
        names = ",".join(f"{name}-controller" for name in CONTROLLERS)
        for name, more in (("kube-controller-manager", ["--controllers", names]), ("kube-scheduler", [])):
            settings = ["--kubeconfig", "kubeconfig", "--leader-elect=false", "--secure-port=0"]
            self._run(name, *settings, *more)

    def _write_files(self) -> None:
        (self._directory / "tokens.csv").write_text(f"{self._token},admin,admin,system:masters\n")
        command = ["openssl", "genrsa", "-out", "account.key", "2048"]
        subprocess.run(command, cwd=self._directory, check=True, capture_output=True)
        self.kubeconfig.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
            f"clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{self._port}', "
            "insecure-skip-tls-verify: true}}]\n"
            f"users: [{{name: u, user: {{token: {self._token}}}}}]\n"
        )

    def _run(self, name: str, *arguments: str) -> None:
        with (self._directory / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(self._binaries / name), *arguments],
                    cwd=self._directory,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )

    def _until_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not self._is_ready():
            assert time.monotonic() < deadline, (self._directory / "kube-apiserver.log").read_text()[-3000:]
            time.sleep(0.2)

    def _is_ready(self) -> bool:
        try:
            self.api.get("/readyz")
        except (OSError, http.client.HTTPException, Refused):
            return False
        return True

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # What a cloud would bring

    def add_node(self, name: str, zone: str) -> None:
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
        room = {"cpu": "8", "memory": "64Gi", "pods": "110"}
        self.api.post("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
        self.api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {"capacity": room, "allocatable": room, "conditions": [ready]}
        self.api.patch(f"/api/v1/nodes/{name}/status", {"status": status})

    def add_volume(self, name: str, path: Path, size: str = "100Gi") -> None:
        spec = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": str(path)},
        }
        self.api.post("/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": spec})
