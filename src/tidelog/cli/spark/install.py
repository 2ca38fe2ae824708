"""Whether Spark is in this very Python: a refusal that names the extra, or the installation of it."""

import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from tidelog.cli.exits import CliError
from tidelog.spark.engine.session import INSTALL, SparkMissing

EXTRA = "spark"
PROGRESS_LINES = ("Collecting ", "Downloading ", "Building wheel", "Installing collected packages")
# What the extra brings, by the names that Python imports. Java is looked for when Spark starts.
NEEDED = ("pyspark", "pyarrow", "numpy", "pandas", "fastavro", "google.protobuf", "deltalake", "pyiceberg")


def missing_modules() -> list[str]:
    return [name for name in NEEDED if not _is_there(name)]


def require_spark(command: str) -> None:
    """Before the first import that needs the extra, so that a person reads its name and no traceback."""
    missing = missing_modules()
    if missing:
        raise CliError(
            f"'tidelog {command}' needs the extra 'spark', which is not installed here:"
            f" there is no {', '.join(missing)}.",
            attempt=INSTALL,
        )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # not even the package that it would be in
        return False


def spark_requirements() -> list[str]:
    """What `tidelog[spark]` asks for, beyond Tidelog itself."""
    try:
        asked = requires("tidelog") or []
    except PackageNotFoundError:
        asked = []
    marked = [line.partition(";") for line in asked]
    return [
        requirement.strip()
        for requirement, _, marker in marked
        if marker.replace('"', "'").replace(" ", "").endswith(f"extra=='{EXTRA}'")
    ]


def install_spark() -> None:
    """Tells what pip is at, a line a package. SparkMissing where it does not work out."""
    wanted = spark_requirements()
    if not wanted:
        raise SparkMissing(f"this installation does not know what Spark needs. Try: {INSTALL}")
    print("  Next, a pipeline on Spark. It is not installed yet: about 600 MB, once.", flush=True)
    began = time.monotonic()
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    process = subprocess.Popen(
        [*pip, *wanted], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    last = ""
    for line in process.stdout or ():
        last = line.strip() or last
        if last.startswith(PROGRESS_LINES) and not last.startswith("Downloading https"):
            print(f"    {time.monotonic() - began:3.0f} s  {last[:90]}", flush=True)
    if process.wait() != 0:
        raise SparkMissing(f"pip could not install it ({last}). Try: {INSTALL}")
    print(f"    {time.monotonic() - began:3.0f} s  done\n", flush=True)
