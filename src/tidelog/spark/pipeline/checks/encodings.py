"""The keys of a sink that say how values are written: which go together, and whether the schema is one."""

from pathlib import Path

from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.checks.registries import check_sink_registry
from tidelog.spark.pipeline.encodings import load_schema
from tidelog.spark.pipeline.lines import Place
from tidelog.spark.pipeline.spec import Sink
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.formats import values_of
from tidelog.spark.values.value_encoding import SCHEMA_ID_MAX


def check_encoding(sink: Sink, directory: Path, place: Place, checker: Checker) -> None:
    check_sink_registry(sink, directory, place, checker)
    has_schema = sink.encode in ("avro", "protobuf")
    for key in ("schema", "message", "schema_id"):
        if getattr(sink, key) is not None and not has_schema:
            checker.add((*place, key), f"'{key}' is for 'encode: avro' and 'encode: protobuf'")
    if sink.encode is not None and sink.value is not None:
        said = (
            f"'value' does not go with 'encode: {sink.encode}', which takes the columns; a step chooses them"
        )
        checker.add((*place, "value"), said)
    if sink.framing != "none" and not has_schema:
        checker.add((*place, "framing"), "is for 'encode: avro' and 'encode: protobuf'")
    if not has_schema:
        return
    if sink.message is not None and sink.encode == "avro":
        checker.add((*place, "message"), "is for Protobuf; an Avro schema is one record")
    if sink.registry is None and (sink.framing == "confluent") != (sink.schema_id is not None):
        said = (
            "'framing: confluent' and 'schema_id' belong together: the number that the schema registry gave"
        )
        checker.add(place, said)
    if sink.schema_id is not None and not 0 <= sink.schema_id <= SCHEMA_ID_MAX:
        checker.add((*place, "schema_id"), "is a number of 32 bits")
    if sink.registry is not None and sink.schema is None:
        return  # the columns say it, or the registry, when the pipeline is built
    try:
        values_of(load_schema(sink, directory))
    except BadSchema as error:
        checker.add((*place, "schema") if sink.schema is not None else place, str(error))
