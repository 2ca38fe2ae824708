"""deploy/kubernetes: plain manifests, rendered from the chart. `make manifests` writes them, a test compares.

What only Helm needs is left out: its labels, and the pods of `helm test`.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.kube_tools import find_tool

ROOT = Path(__file__).resolve().parents[1]
CHART = Path("deploy/helm/tidelog")
DIRECTORY = Path("deploy/kubernetes")
NAMESPACE = "tidelog"
KUBE_VERSION = "1.36.0"
VALUES = {"tidelog.yaml": None, "tidelog-secured.yaml": "secured", "tidelog-single.yaml": "single"}
"""For each file the values in `ci` of the chart that it is rendered with."""
_OF_HELM = re.compile(r"^# Source: .*\n|^ *(app\.kubernetes\.io/managed-by: Helm|helm\.sh/chart: .*)\n", re.M)


def values_file(name: str) -> Path:
    return CHART / "ci" / f"{name}-values.yaml"


def template(helm: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    command = [helm, "template", "tidelog", str(CHART), "--namespace", NAMESPACE]
    return subprocess.run(
        [*command, "--kube-version", KUBE_VERSION, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def manifest(helm: str, file: str) -> str:
    values = VALUES[file]
    chosen = [] if values is None else ["--values", str(values_file(values))]
    done = template(helm, ["--skip-tests", *chosen])
    if done.returncode:
        raise SystemExit(done.stderr)
    opening = "# Rendered from deploy/helm/tidelog by `make manifests`; change that."
    if values is not None:
        what = (ROOT / values_file(values)).read_text().partition("\n")[0]
        opening = f"{what}\n{opening}"
    return f"{opening}\n# kubectl create namespace {NAMESPACE} && kubectl apply -f {file}\n" + _OF_HELM.sub(
        "", done.stdout
    )


def main() -> int:
    helm = find_tool("helm", ROOT)
    if helm is None:
        sys.stderr.write("There is no helm. Build it, with Go: make kube-tools\n")
        return 1
    (ROOT / DIRECTORY).mkdir(exist_ok=True)
    for file in VALUES:
        (ROOT / DIRECTORY / file).write_text(manifest(helm, file))
        sys.stdout.write(f"wrote {DIRECTORY / file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
