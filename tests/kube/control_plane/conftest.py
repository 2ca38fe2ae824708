"""A control plane with nodes and volumes, and the kubelet of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.control_plane.control_plane import ControlPlane
from tests.kube.control_plane.kubelet import Kubelet
from tests.kube.control_plane.machine import Machine
from tests.kube.control_plane.release import NAMESPACE, Release
from tools.kube_tools import CONTROL_PLANE
from tools.manifests import ROOT

STRICTEST = {"pod-security.kubernetes.io/enforce": "restricted"}


@pytest.fixture
def release(tmp_path: Path) -> Iterator[Release]:
    plane = ControlPlane(ROOT / CONTROL_PLANE, tmp_path / "control-plane")
    kubelet = Kubelet(Machine(plane.api, plane.authority, NAMESPACE, tmp_path / "pods"))
    try:
        plane.start()
        plane.api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": STRICTEST}})
        for number in range(6):
            plane.add_node(f"node-{number}", f"zone-{'abc'[number % 3]}")
        for number in range(5):
            plane.add_volume(f"volume-{number}", tmp_path / "volumes" / str(number))
        kubelet.start()
        yield Release(plane, kubelet)
    finally:
        kubelet.stop()
        plane.stop()
