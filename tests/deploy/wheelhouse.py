"""The wheels that Tidelog needs, beside each other in one directory, so that installations need no index.

They are downloaded once and kept below .cache, under a digest of what pyproject.toml asks for.
"""

import fcntl
import hashlib
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def requirements(*extras: str) -> list[str]:
    """What a build and an installation with these extras ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    optional = project["project"]["optional-dependencies"]
    return sorted(
        [
            *project["build-system"]["requires"],
            *project["project"]["dependencies"],
            *(one for extra in extras for one in optional[extra]),
        ]
    )


def wheelhouse(*extras: str, pip_command: tuple[str, ...] = ("wheel",)) -> Path:
    """`pip wheel` also builds what is there as sources only; `pip download` can fetch for other Pythons."""
    wanted = requirements(*extras)
    key = hashlib.sha256("\n".join([sys.version, *wanted, *pip_command]).encode()).hexdigest()[:16]
    directory = ROOT / ".cache" / "wheels" / key
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not (directory / "complete").exists():
            pip = [sys.executable, "-m", "pip", *pip_command, "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *wanted], cwd=directory, check=True)
            (directory / "complete").touch()
    return directory
