"""What the types of a spec cannot say: which keys go together, and which names must be known.

No Spark is needed here, so `tidelog pipeline validate` answers at once; SQL is Spark's to check.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.checks.common import (
    NAME,
    check_ddl_text,
    check_duration,
    check_known,
    check_name,
    check_watermark,
    one_of,
)
from tidelog.spark.pipeline.checks.options import check_brokers
from tidelog.spark.pipeline.checks.sinks import check_sink, sink_name
from tidelog.spark.pipeline.checks.sources import check_source
from tidelog.spark.pipeline.lines import Place
from tidelog.spark.pipeline.spec import STEP_KINDS, Pipeline, State, Step

FUNCTION = re.compile(r"(?P<file>[^:]+\.py):(?P<name>[A-Za-z_][A-Za-z0-9_]*)\Z")


def check_pipeline(pipeline: Pipeline, directory: Path, checker: Checker) -> None:
    """Adds what is wrong to the checker's faults."""
    if not NAME.match(pipeline.name):
        checker.add(("name",), "has to be letters, digits, '.', '_' and '-', up to 100")
    check_duration(pipeline.every, ("every",), checker)
    if pipeline.brokers is not None:
        check_brokers(pipeline.brokers, ("brokers",), checker)
    known: list[str] = []
    for name, source in pipeline.sources.items():
        check_name(name, known, ("sources", name), checker)
        check_source(source, directory, ("sources", name), checker)
        known.append(name)
    if not any(source.is_stream for source in pipeline.sources.values()):
        checker.add(("sources",), "at least one source has to be a stream: a topic that is no table")
    for number, step in enumerate(pipeline.steps):
        _check_step(step, known, directory, ("steps", number), checker)
        known.append(step.name)
    if not pipeline.sinks:
        checker.add(("sinks",), "there is none, so nothing would run")
    taken: list[str] = [f"dead-letter-{name}" for name in pipeline.sources]
    for number, sink in enumerate(pipeline.sinks):
        place: Place = ("sinks", number)
        check_known([sink.from_], known, (*place, "from"), checker)
        check_sink(sink, directory, place, checker)
        name = sink_name(sink)
        if name in taken:
            checker.add(place, f"another query is called '{name}'; give this one a name of its own")
        taken.append(name)


def split_function(text: str) -> tuple[str, str] | None:
    """`rules.py:Fraud` as file and name."""
    found = FUNCTION.match(text)
    return (found["file"], found["name"]) if found else None


def _check_step(step: Step, known: Sequence[str], directory: Path, place: Place, checker: Checker) -> None:
    check_name(step.name, known, (*place, "name"), checker)
    kind = one_of(step, STEP_KINDS, place, checker)
    inputs = [step.from_] if isinstance(step.from_, str) else step.from_ or []
    check_known(inputs, known, (*place, "from"), checker)
    check_watermark(step.watermark, place, checker)
    if kind == "sql" and step.from_ is not None:
        checker.add((*place, "from"), "SQL names what it reads itself: FROM …")
    if kind in ("dedupe", "state") and len(inputs) != 1:
        checker.add(place, f"'{kind}' needs one frame to work on: from: NAME")
    if kind == "python" and not inputs:
        checker.add(place, "'python' needs the frames that the function takes: from: NAME, or [NAME, NAME]")
    if kind == "dedupe" and not step.dedupe:
        checker.add((*place, "dedupe"), "names no column")
    if step.python is not None:
        _check_function(step.python, directory, (*place, "python"), checker)
    if step.state is not None:
        _check_state(step.state, directory, (*place, "state"), checker)


def _check_state(state: State, directory: Path, place: Place, checker: Checker) -> None:
    if not state.by:
        checker.add((*place, "by"), "names no column")
    _check_function(state.rule, directory, (*place, "rule"), checker)
    check_ddl_text(state.output, (*place, "output"), checker)


def _check_function(text: str, directory: Path, place: Place, checker: Checker) -> None:
    split = split_function(text)
    if split is None:
        checker.add(place, f"'{text}' is not FILE.py:NAME")
    elif not (directory / split[0]).is_file():
        checker.add(place, f"there is no file {directory / split[0]}")
