"""The script that Spark's workers are started with: it takes PySpark's zip off the path, no more."""

import os
import subprocess
import sys
from pathlib import Path

from tidelog.spark.engine.worker_python import worker_python

SHOW = "import os, sys; print(os.environ['PYTHONPATH'], sys.argv[1:], sys.version_info[:2])"


def test_takes_only_the_zip_away(tmp_path: Path) -> None:
    script = worker_python(tmp_path)
    zips = "/s/python/lib/pyspark.zip:/s/python/lib/py4j-0.10.9-src.zip"
    path = {**os.environ, "PYTHONPATH": f"{zips}:/mine/lib:/a b/pyspark.zip"}
    said = subprocess.run(
        [script, "-c", SHOW, "x y", "*"], env=path, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert said == f"/mine/lib:/a b/pyspark.zip ['x y', '*'] {sys.version_info[:2]}\n"


def test_is_made_once(tmp_path: Path) -> None:
    made = worker_python(tmp_path)
    before = made.stat().st_mtime_ns
    assert worker_python(tmp_path) == made
    assert made.stat().st_mtime_ns == before
    assert [each.name for each in tmp_path.iterdir()] == [made.name]
