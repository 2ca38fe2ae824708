"""Load generators in C, compiled when they are first needed, and kept until source or libraries change."""

import hashlib
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "benches"


@cache
def compiled(source: Path, *libraries: Path) -> Path:
    """The program made of `source`, linked against `libraries` where they lie."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("the load generators are written in C: apt-get install gcc")
    linked = "".join(map(str, libraries))
    version = hashlib.sha256(source.read_bytes() + linked.encode()).hexdigest()[:12]
    made = CACHE / f"{source.stem}-{version}"
    if not made.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        paths = [f"-Wl,-rpath,{library.parent}" for library in libraries]
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", *paths]
        # Several threads, or runs, may come here at once: none may start what another still writes.
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            whole = Path(folder) / made.name
            subprocess.run([compiler, *flags, "-o", whole, source, *libraries, "-lpthread"], check=True)
            whole.replace(made)
    return made
