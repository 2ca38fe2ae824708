"""A pipeline from its file: YAML, or a Python file with a function that builds it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.checks.common import NAME
from tidelog.spark.pipeline.faults import Fault, InvalidPipeline, nearest
from tidelog.spark.pipeline.lines import Lines
from tidelog.spark.pipeline.nodes import read_yaml
from tidelog.spark.pipeline.rules import check_pipeline
from tidelog.spark.pipeline.spec import Pipeline
from tidelog.spark.pipeline.variables import fill

if TYPE_CHECKING:
    from tidelog.spark.pipeline.build import Build

FUNCTION = "pipeline"


@dataclass(frozen=True, slots=True)
class Loaded:
    """One of `spec` and `function` is there."""

    name: str
    path: Path
    text: str
    spec: Pipeline | None = None
    lines: Lines = field(default_factory=Lines)
    function: "Callable[[Build], None] | None" = None

    @property
    def directory(self) -> Path:
        """What the files that it names are relative to."""
        return self.path.parent


def with_secrets(loaded: Loaded, move: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Loaded:
    """The pipeline with the options of its sources and sinks as `move` has them: see `spark.secrets`."""
    if loaded.spec is None:
        return loaded
    change = msgspec.structs.replace
    spec = change(
        loaded.spec,
        sources={
            name: change(source, options=move(source.options)) for name, source in loaded.spec.sources.items()
        },
        sinks=[change(sink, options=move(sink.options)) for sink in loaded.spec.sinks],
    )
    return replace(loaded, spec=spec)


def load_pipeline(target: str) -> Loaded:
    """`revenue.yaml`, `fraud.py` (its function `pipeline`) or `fraud.py:alerts`."""
    file, colon, name = target.rpartition(":")
    if not colon or not file.endswith(".py"):
        file, name = target, FUNCTION
    path = Path(file)
    try:
        text = path.read_text()
    except OSError as error:
        raise InvalidPipeline([Fault(None, file, f"cannot read it: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise InvalidPipeline([Fault(None, file, "is not text")]) from error
    if path.suffix == ".py":
        return _of_python(path, text, name)
    if path.suffix not in (".yaml", ".yml"):
        raise InvalidPipeline([Fault(None, file, "is neither .yaml nor .py")])
    spec, lines = read_spec(text, path.parent)
    return Loaded(spec.name, path, text, spec=spec, lines=lines)


def read_spec(text: str, directory: Path) -> tuple[Pipeline, Lines]:
    """The spec of a YAML text, and where what is in it stands; InvalidPipeline has every mistake."""
    checker = Checker()
    filled = fill(read_yaml(text), directory)
    unfilled = filled.faults
    try:
        spec = checker.read(filled.tree, Pipeline)
        check_pipeline(spec, directory, checker)
        checker.raise_faults()
    except InvalidPipeline as error:
        # What is said about a value that was not filled in follows from that.
        others = [fault for fault in error.faults if not _is_about(fault, unfilled)]
        raise InvalidPipeline([*unfilled, *map(filled.without_values, others)]) from None
    if unfilled:
        raise InvalidPipeline(unfilled)
    return spec, checker.lines


def _is_about(fault: Fault, unfilled: Sequence[Fault]) -> bool:
    return any(other.place.startswith(fault.place) for other in unfilled)


def _of_python(path: Path, text: str, name: str) -> Loaded:
    module = import_file(path)
    function = getattr(module, name, None)
    if not callable(function):
        made = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise InvalidPipeline([Fault(None, str(path), f"has no function '{name}'{nearest(name, made)}")])
    called = path.stem if name == FUNCTION else name
    if not NAME.match(called):
        raise InvalidPipeline([Fault(None, str(path), f"'{called}' cannot be the name of a pipeline")])
    return Loaded(called, path, text, function=function)


def import_file(path: Path) -> ModuleType:
    """The module of a file that is in no package, under a name that hides no other module."""
    name = f"tidelog_pipeline_{path.stem}"
    found = spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise InvalidPipeline([Fault(None, str(path), "cannot be imported")])
    module = module_from_spec(found)
    sys.modules[name] = module  # dataclasses look for their module there
    try:
        found.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        line = line_in(error, path)
        raise InvalidPipeline([Fault(line, str(path), f"{type(error).__name__}: {error}")]) from error
    return module


def line_in(error: BaseException, path: Path) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno
    line = None
    trace: Any = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
