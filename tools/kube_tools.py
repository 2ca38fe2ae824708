"""The tools of Kubernetes that tests use, built with Go, once: where they are, and how they are built.

`make kube-tools` builds helm and kubeconform, in two minutes; every run of the tests needs them.
`make kube-test` builds a control plane too, in a quarter of an hour or more.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

DIRECTORY = Path(".cache") / "kube"
MODULES = {
    "helm": "helm.sh/helm/v3/cmd/helm@v3.22.0",
    "kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
}
KUBERNETES = "v1.36.3"
CONTROL_PLANE = DIRECTORY / f"control-plane-{KUBERNETES}"
SOURCES = Path("tests/kube/control_plane")
COMPONENTS = {
    "etcd": "./etcd",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
}


def find_tool(name: str, root: Path) -> str | None:
    """The tool that was built here in this very version, or one that is installed."""
    built = root / built_path(name)
    return str(built) if built.exists() else shutil.which(name)


def built_path(name: str) -> Path:
    return DIRECTORY / MODULES[name].rpartition("@")[2] / name


def build_tools(root: Path) -> None:
    for name, module in MODULES.items():
        path = (root / built_path(name)).resolve()
        if not path.exists():
            _go(root, path, ["install", "-ldflags=-s -w", module], GOBIN=str(path.parent), GOFLAGS="-mod=mod")


def build_control_plane(root: Path) -> None:
    # Helm asks the server for its version, which Go alone does not know.
    version = f"-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES}"
    for name, package in COMPONENTS.items():
        path = (root / CONTROL_PLANE / name).resolve()
        if not path.exists():
            _go(root / SOURCES, path, ["build", f"-ldflags={version}", "-o", str(path), package])


def _go(directory: Path, path: Path, arguments: list[str], **variables: str) -> None:
    sys.stderr.write(f"Building {path}…\n")
    try:
        subprocess.run(["go", *arguments], cwd=directory, env={**os.environ, **variables}, check=True)
    except FileNotFoundError:
        raise SystemExit("Go is not installed, and the tools of Kubernetes are built with it.") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(error.returncode) from None


if __name__ == "__main__":
    ROOT = Path(__file__).resolve().parents[1]
    build_tools(ROOT)
    if sys.argv[1:] == ["control-plane"]:
        build_control_plane(ROOT)
