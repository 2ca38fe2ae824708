"""Steps: each makes a frame of those above it."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tidelog.spark.pipeline.faults import Fault, InvalidPipeline, nearest
from tidelog.spark.pipeline.load import import_file
from tidelog.spark.pipeline.rules import split_function
from tidelog.spark.pipeline.spec import State, Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIME_MODES = {"none": "None", "processing": "ProcessingTime", "event": "EventTime"}


def apply_step(
    spark: "SparkSession", step: Step, frames: Mapping[str, "DataFrame"], directory: Path
) -> "DataFrame":
    names = [step.from_] if isinstance(step.from_, str) else step.from_ or []
    inputs = [frames[name] for name in names]
    if step.sql is not None:
        made = spark.sql(step.sql)
    elif step.dedupe is not None:
        made = inputs[0].dropDuplicatesWithinWatermark(step.dedupe)
    elif step.state is not None:
        made = _stateful(inputs[0], step.state, directory)
    else:
        made = _called(step, inputs, directory)
    if step.watermark is not None:
        made = made.withWatermark(step.watermark.column, step.watermark.delay)
    return made


def _called(step: Step, inputs: list["DataFrame"], directory: Path) -> "DataFrame":
    from pyspark.sql import DataFrame

    made = named_in_file(step.python or "", directory)(*inputs)
    if not isinstance(made, DataFrame):
        said = f"{step.python} gave {type(made).__name__}, and a step has to give a DataFrame"
        raise InvalidPipeline([Fault(None, f"steps.{step.name}", said)])
    return made


def _stateful(frame: "DataFrame", state: State, directory: Path) -> "DataFrame":
    rule = named_in_file(state.rule, directory)
    return frame.groupBy(*state.by).transformWithState(
        statefulProcessor=rule(),
        outputStructType=state.output,
        outputMode=state.mode.capitalize(),
        timeMode=TIME_MODES[state.time],
    )


def named_in_file(text: str, directory: Path) -> Any:
    """The function or class that `rules.py:Fraud` names."""
    split = split_function(text)
    if split is None:
        raise InvalidPipeline([Fault(None, text, "is not FILE.py:NAME")])
    module = import_file(directory / split[0])
    travel_by_value(module)
    found = getattr(module, split[1], None)
    if not callable(found):
        made = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise InvalidPipeline([Fault(None, split[0], f"has no '{split[1]}'{nearest(split[1], made)}")])
    return found


def travel_by_value(module: ModuleType) -> None:
    """Workers have no such file: what they need of it is sent along."""
    from pyspark import cloudpickle

    if module.__name__ in sys.modules:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
