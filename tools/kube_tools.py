"""helm and kubeconform: where they are, and how `make kube-tools` builds them, once, with Go."""

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


def find_tool(name: str, root: Path) -> str | None:
    """The tool that was built here in this very version, or one that is installed."""
    built = root / built_path(name)
    return str(built) if built.exists() else shutil.which(name)


def built_path(name: str) -> Path:
    return DIRECTORY / MODULES[name].rpartition("@")[2] / name


def build(root: Path) -> int:
    for name, module in MODULES.items():
        path = root / built_path(name)
        if path.exists():
            continue
        sys.stderr.write(f"Building {module} into {path.relative_to(root)}…\n")
        environment = {**os.environ, "GOBIN": str(path.parent.resolve()), "GOFLAGS": "-mod=mod"}
        done = subprocess.run(
            ["go", "install", "-ldflags=-s -w", module], env=environment, cwd=root, check=False
        )
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(build(Path(__file__).resolve().parents[1]))
