"""The compiled produce path, built once for each process of the tests."""

import importlib.util
import os
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from tidelog.broker.native.plain_produce import MODULE, Produce, bound, source_hash
from tidelog.broker.requests.produce_shortcut import Front
from tidelog.broker.requests.reply import Reply
from tools.native import STRICT, build, why_not

CACHE = Path(__file__).parents[2] / ".cache" / "native"


def compiled_produce() -> Produce:
    return bound(compiled_module(), Front, Reply)


@cache
def compiled_module() -> ModuleType:
    """Skips the test on a machine that cannot build it; on CI that is a failure."""
    if (missing := why_not()) is not None:
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    directory = CACHE / f"{source_hash()}-{os.getpid()}"
    directory.mkdir(parents=True, exist_ok=True)
    made = build(directory, flags=STRICT)
    spec = importlib.util.spec_from_file_location(MODULE, made)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made.unlink()
    directory.rmdir()
    return module
