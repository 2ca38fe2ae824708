"""The Python of Spark's workers: this very one, started so that it begins quickly.

Spark puts zip files of pyspark and py4j first on the workers' path. They hold no compiled modules, so each of
the many short processes around a Python data source would compile pyspark anew: a second of CPU instead of a
third of one. Both are installed beside this package, so the zip files are left out.
"""

import hashlib
import shlex
import sys
from pathlib import Path

from tidelog.spark.scripts import write_script

SCRIPT = """\
#!/bin/sh
rest=
IFS=:
for entry in $PYTHONPATH; do
    case "$entry" in */pyspark.zip|*/py4j-*-src.zip) ;; *) rest="$rest${{rest:+:}}$entry" ;; esac
done
unset IFS
PYTHONPATH="$rest" exec {python} "$@"
"""


def worker_python(folder: Path, executable: str = sys.executable) -> Path:
    """A command to name as PYSPARK_PYTHON, made inside `folder`."""
    name = hashlib.sha256(executable.encode()).hexdigest()[:12]
    return write_script(folder / f"python-{name}", SCRIPT.format(python=shlex.quote(executable)))
