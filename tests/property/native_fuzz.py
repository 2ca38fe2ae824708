"""The compiled produce path under the compiler's sanitizers, for as long as one likes: `make native-fuzz`.

Sends mutated frames to both paths, as `test_native_produce` does with a few. What the sanitizers find ends
the run with a report of theirs, a difference with an AssertionError; both name the seed.
"""

import argparse
import faulthandler
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.property import test_native_produce
from tests.rigs.virtual_time import run
from tidelog.broker.native.plain_produce import MODULE, bound
from tidelog.broker.requests.produce_shortcut import Front
from tidelog.broker.requests.reply import Reply
from tools.native import STRICT, build, compiler

SANITIZERS = (
    "-g",
    "-O1",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)
FRAMES = 300


def fuzz(module: Path, seconds: float, seed: int) -> None:
    spec = importlib.util.spec_from_file_location(MODULE, module)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    test_native_produce.compiled_produce = lambda: bound(made, Front, Reply)
    stop, served, first = time.monotonic() + seconds, 0, seed
    while time.monotonic() < stop:
        print(f"seed {seed}", end="\r" if sys.stdout.isatty() else "\n", flush=True)
        served += run(test_native_produce.send_mutated(random.Random(seed), FRAMES))
        seed += 1
    print(f"{FRAMES * (seed - first)} frames, compiled code served {served}: seeds {first} to {seed - 1}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--module", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.module is not None:
        faulthandler.enable()
        fuzz(given.module, given.seconds, given.seed)
        return
    with tempfile.TemporaryDirectory() as directory:
        module = build(Path(directory), flags=(*STRICT, *SANITIZERS))
        libraries = [
            subprocess.check_output([str(compiler()), f"-print-file-name={name}"], text=True).strip()
            for name in ("libasan.so", "libubsan.so")
        ]
        sanitized = {
            "LD_PRELOAD": " ".join(libraries),
            "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps much to its end
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONMALLOC": "malloc",
        }
        command = [sys.executable, "-m", "tests.property.native_fuzz", "--module", module]
        command += ["--seconds", str(given.seconds), "--seed", str(given.seed)]
        sys.exit(subprocess.run(command, env=os.environ | sanitized, check=False).returncode)


if __name__ == "__main__":
    main()
