"""The `options` of sources and sinks, checked against the option tables of their readers."""

from collections.abc import Callable
from pathlib import Path

from tidelog.base.errors import TidelogError
from tidelog.spark.lake.options import parse_options
from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.lines import Place
from tidelog.spark.pipeline.sinks import sink_options
from tidelog.spark.pipeline.sources import source_options
from tidelog.spark.pipeline.spec import Sink, Source
from tidelog.spark.sink.options import read_sink_options
from tidelog.spark.source.options import read_source_options

ANYWHERE = "localhost:9092"
OF_CONSOLE = {"rows"}
OF_LOOKUPS = ("sep", "quote", "nullvalue")


def check_brokers(brokers: str, place: Place, checker: Checker) -> None:
    parts = [part.strip() for part in brokers.split(",") if part.strip()]
    strange = [part for part in parts if not part.rpartition(":")[2].isdigit()]
    if strange or not parts:
        checker.add(place, f"{(strange or [brokers])[0]!r} is not host:port")


def check_source_options(source: Source, place: Place, checker: Checker) -> None:
    given = source_options(source, ANYWHERE)
    _tell(lambda: read_source_options(given, is_stream=not source.table), place, checker)


def check_reload(source: Source, directory: Path, place: Place, checker: Checker) -> None:
    path = directory / str(source.file)
    if "://" in str(source.file) or path.is_dir():
        checker.add((*place, "reload"), "only a single file on this machine is read again when it changes")
    for name in source.options:
        if path.suffix.lower() != ".csv" or name.lower() not in OF_LOOKUPS:
            said = "with 'reload' there are the options sep, quote and nullValue, of CSV files"
            checker.add((*place, "options", name), said)


def check_sink_options(sink: Sink, directory: Path, place: Place, checker: Checker) -> None:
    if sink.kind == "console":
        for name in set(sink.options) - OF_CONSOLE:
            checker.add((*place, "options", name), f"the console has no option '{name}', only 'rows'")
        return
    read = read_sink_options if sink.kind == "topic" else parse_options
    _tell(lambda: read(sink_options(sink, ANYWHERE, directory)), place, checker)


def _tell(read: Callable[[], object], place: Place, checker: Checker) -> None:
    try:
        read()
    except TidelogError as error:
        checker.add((*place, "options"), str(error))
