"""What the containers of a pod see: variables, the files of volumes, config maps and secrets, and an address.

The pod's address is in 127.0.0.0/8, and it has its ports there. Names of pods become addresses, 0.0.0.0 the
pod's own, and paths those of this machine, wherever they stand in variables, files and commands.
"""

import base64
import re
from pathlib import Path

from tests.interop.fleet_process import clean_environment
from tests.kube.control_plane.api import Item
from tests.kube.control_plane.machine import Machine


class PodSandbox:
    def __init__(self, machine: Machine, item: Item, directory: Path) -> None:
        self._machine, self._item = machine, item
        self._directory = directory
        self.address = machine.address_of(int(item["metadata"]["labels"]["apps.kubernetes.io/pod-index"]))
        self._mounts: dict[str, Path] = {}

    def prepare(self) -> None:
        """Fill the volumes, all but that of temporary files, which are where the machine has them."""
        self._directory.mkdir(parents=True)
        volumes = {volume["name"]: volume for volume in self._item["spec"]["volumes"]}
        directories = {name: self._place(volumes[name]) for name in volumes if name != "tmp"}
        spec = self._item["spec"]
        self._mounts = {
            mount["mountPath"]: directories[mount["name"]]
            for container in (*spec["containers"], *spec.get("initContainers", ()))
            for mount in container["volumeMounts"]
            if mount["name"] in directories
        }
        for name, directory in directories.items():
            directory.mkdir(parents=True, exist_ok=True)
            for file, content in self._files(volumes[name]).items():
                (directory / file).write_bytes(content)

    def here(self, text: str) -> str:
        text = self._machine.with_addresses(text).replace("0.0.0.0", self.address)
        paths = "|".join(re.escape(path) for path in sorted(self._mounts, reverse=True))
        return re.sub(paths, lambda found: str(self._mounts[found[0]]), text)

    def environment(self, container: Item) -> dict[str, str]:
        made: dict[str, str] = {}
        for variable in container["env"]:
            if "valueFrom" in variable:
                made[variable["name"]] = self._field(variable["valueFrom"]["fieldRef"]["fieldPath"])
            else:
                given = variable.get("value", "")
                made[variable["name"]] = re.sub(r"\$\((\w+)\)", lambda found: made[found[1]], given)
        server = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self._machine.api.port),
        }
        return clean_environment() | server | {name: self.here(value) for name, value in made.items()}

    def _field(self, path: str) -> str:
        metadata = self._item["metadata"]
        if label := re.fullmatch(r"metadata\.labels\['(.+)'\]", path):
            return str(metadata["labels"].get(label[1], ""))
        return str({"metadata.name": metadata["name"], "spec.nodeName": self._item["spec"]["nodeName"]}[path])

    def _place(self, volume: Item) -> Path:
        if "persistentVolumeClaim" not in volume:
            return self._directory / str(volume["name"])
        claim = volume["persistentVolumeClaim"]["claimName"]
        found = self._machine.api.get(self._machine.path("persistentvolumeclaims", claim))
        bound = self._machine.api.get(f"/api/v1/persistentvolumes/{found['spec']['volumeName']}")
        return Path(bound["spec"]["hostPath"]["path"])

    def _files(self, volume: Item) -> dict[str, bytes]:
        api, path = self._machine.api, self._machine.path
        if "configMap" in volume:
            texts = api.get(path("configmaps", volume["configMap"]["name"]))["data"]
            return {name: self.here(text).encode() for name, text in texts.items()}
        if "secret" in volume:
            coded = api.get(path("secrets", volume["secret"]["secretName"]))["data"]
            return {name: base64.b64decode(text) for name, text in coded.items()}
        if "projected" in volume:  # what a container shows to the API server, and what it trusts there
            account = path("serviceaccounts", self._item["spec"]["serviceAccountName"])
            token = api.post(f"{account}/token", {"spec": {}})["status"]["token"]
            return {"token": token.encode(), "ca.crt": self._machine.authority.read_bytes()}
        return {}
