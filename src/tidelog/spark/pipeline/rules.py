"""What the types of a spec cannot say: which keys go together, and which names must be known.

No Spark is needed here, so `tidelog pipeline validate` answers at once; SQL is Spark's to check.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from tidelog.spark.ddl import check_ddl
from tidelog.spark.decoding import Kind
from tidelog.spark.decoding_errors import BadSchema
from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.encoding_checks import check_encoding
from tidelog.spark.pipeline.faults import nearest
from tidelog.spark.pipeline.lines import Place
from tidelog.spark.pipeline.moments import start_options
from tidelog.spark.pipeline.option_checks import (
    check_brokers,
    check_reload,
    check_sink_options,
    check_source_options,
)
from tidelog.spark.pipeline.sources import decoding_of
from tidelog.spark.pipeline.spec import (
    SINK_KINDS,
    STEP_KINDS,
    SUBSCRIPTIONS,
    Pipeline,
    Sink,
    Source,
    State,
    Step,
    Upsert,
    Watermark,
)
from tidelog.spark.values import values_of

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
DURATION = re.compile(r"\d+(\.\d+)? *(millisecond|second|minute|hour|day)s?\Z", re.IGNORECASE)
FUNCTION = re.compile(r"(?P<file>[^:]+\.py):(?P<name>[A-Za-z_][A-Za-z0-9_]*)\Z")
TABLES = ("delta", "iceberg", "parquet")
UPSERTABLE = ("delta", "iceberg")
OF_TOPICS = ("key", "value", "headers", "brokers", "encode")
OF_FILES = {"file", "options", "schema", "reload"}
OF_STREAMS = ("start", "watermark", "tombstones", "dead_letter")


def check_pipeline(pipeline: Pipeline, folder: Path, checker: Checker) -> None:
    """Adds what is wrong to the checker's faults."""
    if not NAME.match(pipeline.name):
        checker.add(("name",), "has to be letters, digits, '.', '_' and '-', up to 100")
    _check_duration(pipeline.every, ("every",), checker)
    if pipeline.brokers is not None:
        check_brokers(pipeline.brokers, ("brokers",), checker)
    known: list[str] = []
    for name, source in pipeline.sources.items():
        _check_name(name, known, ("sources", name), checker)
        check_source(source, folder, ("sources", name), checker)
        known.append(name)
    if not any(source.is_stream for source in pipeline.sources.values()):
        checker.add(("sources",), "at least one source has to be a stream: a topic that is no table")
    for number, step in enumerate(pipeline.steps):
        _check_step(step, known, folder, ("steps", number), checker)
        known.append(step.name)
    if not pipeline.sinks:
        checker.add(("sinks",), "there is none, so nothing would run")
    taken: list[str] = [f"dead-letter-{name}" for name in pipeline.sources]
    for number, sink in enumerate(pipeline.sinks):
        place: Place = ("sinks", number)
        _check_known([sink.from_], known, (*place, "from"), checker)
        check_sink(sink, folder, place, checker)
        name = sink_name(sink)
        if name in taken:
            checker.add(place, f"another query is called '{name}'; give this one a name of its own")
        taken.append(name)


def check_source(source: Source, folder: Path, place: Place, checker: Checker) -> None:
    kind = _one_of(source, SUBSCRIPTIONS, place, checker)
    if source.file is not None:
        _check_file(source, folder, place, checker)
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
    _check_decoding(source, folder, place, checker)
    _check_unused_decoding(source, place, checker)
    if (source.on_error == "dead-letter") != (source.dead_letter is not None):
        checker.add(place, "'on_error: dead-letter' and 'dead_letter: TOPIC' belong together")
    if source.dead_letter is not None and _reads(source, source.dead_letter):
        said = f"the source reads '{source.dead_letter}' too, so a dead letter would come back for ever"
        checker.add((*place, "dead_letter"), said)
    _check_watermark(source.watermark, place, checker)


def _reads(source: Source, topic: str) -> bool:
    if source.pattern is None:
        return topic == source.topic or topic in (source.topics or ())
    try:
        return re.fullmatch(source.pattern, topic) is not None
    except re.error:  # told of with the options
        return False


def check_sink(sink: Sink, folder: Path, place: Place, checker: Checker) -> None:
    if _one_of(sink, SINK_KINDS, place, checker) is not None:
        check_sink_options(sink, folder, place, checker)
    _check_duration(sink.every, (*place, "every"), checker)
    if sink.name is not None and not NAME.match(sink.name):
        checker.add((*place, "name"), "has to be letters, digits, '.', '_' and '-', up to 100")
    if sink.kind != "topic":
        for key in OF_TOPICS:
            if getattr(sink, key) is not None:
                checker.add((*place, key), f"'{key}' is for topics only")
    check_encoding(sink, folder, place, checker)
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
    """The name of its query and of its folder in the checkpoint."""
    target = getattr(sink, sink.kind, None) if sink.kind else None
    if sink.name is not None or not isinstance(target, str) or sink.kind != "topic":
        return sink.name or f"{sink.from_}-{sink.kind}"
    return target


def split_function(text: str) -> tuple[str, str] | None:
    """`rules.py:Fraud` as file and name."""
    found = FUNCTION.match(text)
    return (found["file"], found["name"]) if found else None


def _check_step(step: Step, known: Sequence[str], folder: Path, place: Place, checker: Checker) -> None:
    _check_name(step.name, known, (*place, "name"), checker)
    kind = _one_of(step, STEP_KINDS, place, checker)
    inputs = [step.from_] if isinstance(step.from_, str) else step.from_ or []
    _check_known(inputs, known, (*place, "from"), checker)
    _check_watermark(step.watermark, place, checker)
    if kind == "sql" and step.from_ is not None:
        checker.add((*place, "from"), "SQL names what it reads itself: FROM …")
    if kind in ("dedupe", "state") and len(inputs) != 1:
        checker.add(place, f"'{kind}' needs one frame to work on: from: NAME")
    if kind == "python" and not inputs:
        checker.add(place, "'python' needs the frames that the function takes: from: NAME, or [NAME, NAME]")
    if kind == "dedupe" and not step.dedupe:
        checker.add((*place, "dedupe"), "names no column")
    if step.python is not None:
        _check_function(step.python, folder, (*place, "python"), checker)
    if step.state is not None:
        _check_state(step.state, folder, (*place, "state"), checker)


def _check_state(state: State, folder: Path, place: Place, checker: Checker) -> None:
    if not state.by:
        checker.add((*place, "by"), "names no column")
    _check_function(state.rule, folder, (*place, "rule"), checker)
    _check_ddl(state.output, (*place, "output"), checker)


def _check_function(text: str, folder: Path, place: Place, checker: Checker) -> None:
    split = split_function(text)
    if split is None:
        checker.add(place, f"'{text}' is not FILE.py:NAME")
    elif not (folder / split[0]).is_file():
        checker.add(place, f"there is no file {folder / split[0]}")


def _check_file(source: Source, folder: Path, place: Place, checker: Checker) -> None:
    defaults = Source()
    for key in source.__struct_fields__:
        if key not in OF_FILES and getattr(source, key) != getattr(defaults, key):
            checker.add((*place, key), f"'{key}' is for topics; this source is a file")
    _check_ddl(source.schema, (*place, "schema"), checker)
    path = Path(source.file or "")
    if path.suffix.lower() not in (".csv", ".json", ".jsonl", ".parquet"):
        checker.add((*place, "file"), f"'{source.file}' is no .csv, .json, .jsonl or .parquet")
    elif "://" not in str(source.file) and not (folder / path).exists():
        checker.add((*place, "file"), f"there is no {folder / path}")
    if source.reload:
        check_reload(source, folder, place, checker)


def _check_decoding(source: Source, folder: Path, place: Place, checker: Checker) -> None:
    try:
        decoding = decoding_of(source, folder)
        if decoding.kind in (Kind.AVRO, Kind.PROTOBUF):
            values_of(decoding)
    except BadSchema as error:
        key = "sample" if source.sample is not None else "schema"
        checker.add((*place, key) if getattr(source, key) is not None else place, str(error))


def _check_ddl(text: str | None, place: Place, checker: Checker) -> None:
    try:
        if text is not None:
            check_ddl(text)
    except BadSchema as error:
        checker.add(place, str(error))


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


def _check_watermark(watermark: Watermark | None, place: Place, checker: Checker) -> None:
    if watermark is not None:
        _check_duration(watermark.delay, (*place, "watermark", "delay"), checker)


def _check_duration(text: str | None, place: Place, checker: Checker) -> None:
    if text is not None and not DURATION.match(text):
        checker.add(place, f"'{text}' is no duration such as '10 seconds' or '5 minutes'")


def _check_name(name: str, known: Sequence[str], place: Place, checker: Checker) -> None:
    if not IDENTIFIER.match(name):
        checker.add(place, f"'{name}' is no name for SQL: letters, digits and '_', no digit first")
    if name in known:
        checker.add(place, f"the name '{name}' is taken by a frame above")


def _check_known(names: Sequence[str], known: Sequence[str], place: Place, checker: Checker) -> None:
    for name in names:
        if name not in known:
            checker.add(place, f"no source or step above is called '{name}'{nearest(name, known)}")


def _one_of(struct: object, keys: Sequence[str], place: Place, checker: Checker) -> str | None:
    given = [key for key in keys if getattr(struct, key) not in (None, False)]
    if len(given) == 1:
        return given[0]
    said = "has none of" if not given else f"has {' and '.join(given)}, and may have only one of"
    checker.add(place, f"{said} {', '.join(keys)}")
    return None
