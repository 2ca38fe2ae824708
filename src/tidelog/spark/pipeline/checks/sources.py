"""A source's keys: which go together, and whether what they name is there."""

import re
from pathlib import Path

from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.checks.common import check_ddl_text, check_watermark, one_of
from tidelog.spark.pipeline.checks.options import check_reload, check_source_options
from tidelog.spark.pipeline.checks.registries import check_source_registry
from tidelog.spark.pipeline.lines import Place
from tidelog.spark.pipeline.moments import start_options
from tidelog.spark.pipeline.sources import FILE_FORMATS, decoding_of
from tidelog.spark.pipeline.spec import SUBSCRIPTIONS, Source
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.formats import values_of
from tidelog.spark.values.value_decoding import Kind

OF_FILES = {"file", "options", "schema", "reload"}
OF_STREAMS = ("start", "watermark", "tombstones", "dead_letter")


def check_source(source: Source, directory: Path, place: Place, checker: Checker) -> None:
    kind = one_of(source, SUBSCRIPTIONS, place, checker)
    if source.file is not None:
        _check_file(source, directory, place, checker)
        return
    if source.reload:
        checker.add((*place, "reload"), "is for files; topics are read on and on")
    if source.table:
        _check_table(source, kind, place, checker)
    try:
        start_options(source.start)
        if kind is not None:
            check_source_options(source, place, checker)
    except ValueError as error:
        checker.add((*place, "start"), str(error))
    if source.registry is not None:
        check_source_registry(source, directory, place, checker)
    else:
        _check_decoding(source, directory, place, checker)
    _check_unused_decoding(source, place, checker)
    if (source.on_error == "dead-letter") != (source.dead_letter is not None):
        checker.add(place, "'on_error: dead-letter' and 'dead_letter: TOPIC' belong together")
    if source.dead_letter is not None and _reads(source, source.dead_letter):
        said = f"the source reads '{source.dead_letter}' too, so a dead letter would come back for ever"
        checker.add((*place, "dead_letter"), said)
    check_watermark(source.watermark, place, checker)


def _reads(source: Source, topic: str) -> bool:
    if source.pattern is None:
        return topic == source.topic or topic in (source.topics or ())
    try:
        return re.fullmatch(source.pattern, topic) is not None
    except re.error:  # told of with the options
        return False


def _check_file(source: Source, directory: Path, place: Place, checker: Checker) -> None:
    defaults = Source()
    for key in source.__struct_fields__:
        if key not in OF_FILES and getattr(source, key) != getattr(defaults, key):
            checker.add((*place, key), f"'{key}' is for topics; this source is a file")
    check_ddl_text(source.schema, (*place, "schema"), checker)
    path = Path(source.file or "")
    if path.suffix.lower() not in FILE_FORMATS:
        checker.add((*place, "file"), f"'{source.file}' is no .csv, .json, .jsonl or .parquet")
    elif "://" not in str(source.file) and not (directory / path).exists():
        checker.add((*place, "file"), f"there is no {directory / path}")
    if source.reload:
        check_reload(source, directory, place, checker)


def _check_decoding(source: Source, directory: Path, place: Place, checker: Checker) -> None:
    try:
        decoding = decoding_of(source, directory)
        if decoding.kind in (Kind.AVRO, Kind.PROTOBUF):
            values_of(decoding)
    except BadSchema as error:
        key = "sample" if source.sample is not None else "schema"
        checker.add((*place, key) if getattr(source, key) is not None else place, str(error))


def _check_table(source: Source, kind: str | None, place: Place, checker: Checker) -> None:
    if kind != "topic":
        checker.add((*place, "table"), "a table is of one 'topic'")
    defaults = Source()
    for key in OF_STREAMS:
        if getattr(source, key) != getattr(defaults, key):
            checker.add((*place, key), f"'{key}' is for streams; a table has the latest record of each key")


def _check_unused_decoding(source: Source, place: Place, checker: Checker) -> None:
    used = {
        "raw": set(),
        "string": set(),
        "json": {"schema", "sample"},
        "avro": {"schema"},
        "protobuf": {"schema", "message"},
    }[source.decode]
    for key in ("schema", "sample", "message"):
        if getattr(source, key) is not None and key not in used:
            checker.add((*place, key), f"'{key}' means nothing with 'decode: {source.decode}'")
    is_plain = source.decode in ("raw", "string")
    if is_plain and source.on_error != "fail" and not source.rules:
        said = f"nothing can fail with 'decode: {source.decode}' and without 'rules'"
        checker.add((*place, "on_error"), said)
    if is_plain and source.tombstones != "error":
        checker.add(
            (*place, "tombstones"), f"with 'decode: {source.decode}' they are rows whose value is null"
        )
    if source.framing != "none" and source.decode not in ("avro", "protobuf"):
        checker.add((*place, "framing"), "is for Avro and Protobuf")
