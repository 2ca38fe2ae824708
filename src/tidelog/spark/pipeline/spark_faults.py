"""What Spark says against a part of a pipeline, as one sentence with the line of the YAML file.

Spark knows the name that is wrong and where in the SQL it stands; its own message goes on with the plan.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidelog.base.errors import TidelogError
from tidelog.spark.pipeline.faults import Fault, InvalidPipeline, nearest
from tidelog.spark.pipeline.lines import Lines, Place, place_text

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
NAMED = re.compile(r"`((?:[^`]|``)*)`")
LINE_OF_SQL = re.compile(r"\(line (\d+), pos \d+\)")
TEXT_MAX = 500


@dataclass(slots=True)
class Part:
    """A part of the pipeline that Spark is asked to plan."""

    place: Place
    subject: str
    """How a sentence about it begins, such as: the step 'revenue'."""
    text: str = ""
    """The SQL, where there is some."""
    frames: Iterable[str] = field(default_factory=tuple)
    """What SQL may read from."""
    functions: Callable[[], Iterable[str]] = tuple


@contextmanager
def explained(part: Part, lines: Lines) -> Iterator[None]:
    """Whatever is wrong with it comes out as InvalidPipeline, with the place."""
    from pyspark.errors import PySparkException

    try:
        with without_spark_log():
            yield
    except InvalidPipeline:
        raise
    except PySparkException as error:
        line = lines.within(part.place, _lines_before(error, part.text))
        raise InvalidPipeline([Fault(line, place_text(part.place), sentence(error, part))]) from error
    except TidelogError as error:
        raise InvalidPipeline([Fault(lines.find(part.place), place_text(part.place), str(error))]) from error


@contextmanager
def without_spark_log() -> Iterator[None]:
    """PySpark logs each refusal as JSON with Java's stack, before this code can explain it."""
    from pyspark.logger import PySparkLogger

    found = [PySparkLogger.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in found]
    for logger in found:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(found, before, strict=True):
            logger.setLevel(level)


def sentence(error: "PySparkException", part: Part) -> str:
    condition = error.getCondition() or ""
    about = error.getMessageParameters() or {}
    if condition.startswith("UNRESOLVED_COLUMN"):
        name = _last_name(about.get("objectName") or about.get("colName", ""))
        proposed = about.get("proposal") or about.get("fieldNames", "")
        known = list(dict.fromkeys(_last_name(text) for text in proposed.split(", ") if text))
        return f"{part.subject} names a column '{name}' that is not there{nearest(name, known)}"
    if condition == "TABLE_OR_VIEW_NOT_FOUND":
        name = _last_name(about.get("relationName", ""))
        return f"{part.subject} reads from '{name}', and no source or step above is called so" + nearest(
            name, part.frames
        )
    if condition == "UNRESOLVED_ROUTINE":
        name = _last_name(about.get("routineName", ""))
        near = nearest(name, part.functions())
        return f"{part.subject} calls '{name}', a function that Spark does not have" + (
            near if "did you mean" in near else ""
        )
    if condition == "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION":
        mode, what = about.get("outputMode", ""), about.get("operation", "")
        return f"'mode: {mode}' is not possible here: Spark does not have it for {what}" + _way_out(
            mode, what
        )
    return f"{part.subject} is refused by Spark: {spark_said(error)}"


def spark_said(error: BaseException) -> str:
    """The sentence of Spark's message, without its plan and its trace."""
    text = str(error).strip().partition(" SQLSTATE:")[0]
    lines = [line.strip() for line in text.split("\n;\n")[0].splitlines()]
    kept = []
    for line in lines:
        if line.startswith(("== ", "=== ", "JVM stacktrace", "at org.", "at java.")):
            break
        if line:
            kept.append(line)
    return " ".join(kept)[:TEXT_MAX]


def _way_out(mode: str, what: str) -> str:
    if mode == "append" and "without watermark" in what:
        return "; give the source a 'watermark', or write 'mode: update'"
    return ""


def _last_name(text: str) -> str:
    """`orders`.`country` -> country"""
    found = NAMED.findall(text)
    return str(found[-1]).replace("``", "`") if found else text


def _lines_before(error: "PySparkException", text: str) -> int:
    """Returns how many lines of the SQL come before the line that Spark points at."""
    for context in error.getQueryContext() or ():
        if context.contextType().name == "SQL":
            return text.count("\n", 0, context.startIndex())
    found = LINE_OF_SQL.search(str(error))
    return int(found[1]) - 1 if found else 0
