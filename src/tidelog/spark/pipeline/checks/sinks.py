"""A sink's keys: which go together, and what its query is called."""

from pathlib import Path

from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.checks.common import NAME, check_duration, one_of
from tidelog.spark.pipeline.checks.encodings import check_encoding
from tidelog.spark.pipeline.checks.options import check_sink_options
from tidelog.spark.pipeline.lines import Place
from tidelog.spark.pipeline.spec import SINK_KINDS, Sink, Upsert

TABLES = ("delta", "iceberg", "parquet")
UPSERTABLE = ("delta", "iceberg")
OF_TOPICS = ("key", "value", "headers", "brokers", "encode")


def check_sink(sink: Sink, directory: Path, place: Place, checker: Checker) -> None:
    if one_of(sink, SINK_KINDS, place, checker) is not None:
        check_sink_options(sink, directory, place, checker)
    check_duration(sink.every, (*place, "every"), checker)
    if sink.name is not None and not NAME.match(sink.name):
        checker.add((*place, "name"), "has to be letters, digits, '.', '_' and '-', up to 100")
    if sink.kind != "topic":
        for key in OF_TOPICS:
            if getattr(sink, key) is not None:
                checker.add((*place, key), f"'{key}' is for topics only")
    check_encoding(sink, directory, place, checker)
    if sink.upsert is not None:
        _check_upsert(sink, sink.upsert, place, checker)
    elif sink.kind in TABLES and sink.mode != "append":
        checker.add(
            (*place, "mode"), "a table only takes 'append', unless 'upsert' says which rows replace which"
        )
    if sink.kind == "console" and sink.delivery != "at-least-once":
        checker.add((*place, "delivery"), "the console cannot take back what it showed")


def _check_upsert(sink: Sink, upsert: Upsert, place: Place, checker: Checker) -> None:
    place = (*place, "upsert")
    if sink.kind not in UPSERTABLE:
        checker.add(
            place, "is for tables of delta and iceberg; a topic has a 'key', by which it is compacted"
        )
    if sink.mode == "complete":
        checker.add((*place[:-1], "mode"), "with 'upsert' the modes are 'append' and 'update'")
    if not upsert.columns:
        checker.add((*place, "by"), "names no column")
    strange = [name for name in upsert.columns if "," in name]
    if strange:
        checker.add((*place, "by"), f"'{strange[0]}' has a comma; write a list: [a, b]")


def sink_name(sink: Sink) -> str:
    """The name of its query and of its directory in the checkpoint."""
    target = getattr(sink, sink.kind, None) if sink.kind else None
    if sink.name is not None or not isinstance(target, str) or sink.kind != "topic":
        return sink.name or f"{sink.from_}-{sink.kind}"
    return target
