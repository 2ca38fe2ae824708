"""Builds the compiled produce path beside its source, with the C compiler of the system.

    python -m tools.native [DIRECTORY]

`hatch_build.py` calls it with TIDELOG_NATIVE=1, so this file needs nothing but Python.
"""

import hashlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "tidelog" / "broker" / "native" / "plain_produce.c"

HEADERS = sysconfig.get_path("include")
STRICT = ("-Wall", "-Wextra", "-Werror")
"""For tests. A later compiler has other warnings, and an installation must not fail for them."""


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def why_not() -> str | None:
    """Returns what is missing to build it, and how to get it."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "A free-threaded Python cannot have the compiled produce path. Build it with another Python"
    if compiler() is None:
        return "No C compiler (cc, gcc or clang). On Debian and Ubuntu: apt-get install gcc"
    if not Path(HEADERS, "Python.h").exists():
        return f"{HEADERS} has no Python.h. On Debian and Ubuntu: apt-get install python3-dev"
    return None


def build(directory: Path = SOURCE.parent, *, flags: Sequence[str] = ()) -> Path:
    """Returns the extension module that it made in `directory`."""
    if (missing := why_not()) is not None:
        raise SystemExit(missing)
    made = directory / f"_{SOURCE.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    version = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    flags = ["-O2", "-fPIC", f'-DSOURCE_HASH="{version}"', f"-I{HEADERS}", *flags]
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    partial = made.with_name(f"{made.name}.new")  # a broker may have the old one open
    command = [str(compiler()), *flags, *shared, str(SOURCE), "-o", str(partial)]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"{SOURCE} was not compiled, for what the compiler says above: {' '.join(command)}")
    return partial.replace(made)


if __name__ == "__main__":
    print(f"Built {build(*map(Path, sys.argv[1:]))}")
