"""Apache Kafka's jars (Java client, command-line tools, server), fetched by Maven into the cache directory.

The release is the one that java/pom.xml names. The first use needs a network, later ones do not.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parent.parent / ".cache" / "interop"
POM = HERE / "java" / "pom.xml"
# The serial collector and one compiler tier start fastest, and the tests are many short JVM runs.
JVM = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto"]
QUIET = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]


def pinned(name: str) -> str:
    """A version that java/pom.xml names."""
    match = re.search(f"<{name}>(.+?)</{name}>", POM.read_text())
    if match is None:
        raise ValueError(f"{POM} names no {name}")
    return match.group(1)


def missing_tool() -> str | None:
    """What stands in the way of running Java, with the way to get it; None when all is there."""
    for tool, package in (
        ("java", "openjdk-17-jdk-headless"),
        ("javac", "openjdk-17-jdk-headless"),
        ("mvn", "maven"),
    ):
        if shutil.which(tool) is None:
            return f"{tool} is not installed: apt-get install {package}"
    return None


def jars() -> Path:
    """The directory of jars, filled on first use; a lock lets parallel test workers share the work."""
    # Named by all of the pom: a directory from before a dependency was added to it would lack that one.
    directory = CACHE / f"kafka-{pinned('kafka.version')}-{hashlib.sha256(POM.read_bytes()).hexdigest()[:8]}"
    with lock("kafka-jars"):
        if not directory.exists():
            unfinished = directory.with_suffix(".unfinished")
            command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
            run([*command, f"-DoutputDirectory={unfinished}", "-DincludeScope=runtime"])
            unfinished.rename(directory)
    return directory


def client_jar(version: str) -> Path:
    """The client jar of another release, to put in front of the class path."""
    jar = CACHE / f"kafka-clients-{version}.jar"
    with lock("client-jar"):
        if not jar.exists():
            wanted = f"-Dartifact=org.apache.kafka:kafka-clients:{version}"
            run(["mvn", "-q", "-B", "-f", str(POM), "dependency:copy", wanted, f"-DoutputDirectory={CACHE}"])
    return jar


def classpath() -> str:
    return f"{jars()}/*"


def compiled(sources: Path) -> str:
    """Compile the Java sources of a directory and give the class path to run them with."""
    newest = max(source.stat().st_mtime_ns for source in sources.glob("*.java"))
    classes = CACHE / "java-classes" / f"{pinned('kafka.version')}-{newest}"
    path = classpath()
    with lock("java-classes"):
        if not classes.exists():
            unfinished = classes.with_suffix(".unfinished")
            run(
                [
                    "javac",
                    "-Xlint:all,-processing",
                    "-Werror",
                    "-cp",
                    path,
                    "-d",
                    str(unfinished),
                    *map(str, sources.glob("*.java")),
                ]
            )
            unfinished.rename(classes)
    return f"{classes}{os.pathsep}{path}"


@contextmanager
def lock(name: str) -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(command: list[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(command[:4])} … ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout
