"""The key `registry`: what goes with it, checked without asking the registry."""

from pathlib import Path

from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.lines import Place
from tidelog.spark.pipeline.registries import registry_options, written_out
from tidelog.spark.pipeline.spec import Registry, Sink, Source
from tidelog.spark.values.errors import BadSchema

DECODED = ("json", "avro", "protobuf")


def check_source_registry(source: Source, directory: Path, place: Place, checker: Checker) -> None:
    if source.registry is None:
        return
    if source.decode not in DECODED:
        said = f"is for 'decode: json', 'avro' and 'protobuf', and not for '{source.decode}'"
        checker.add((*place, "registry"), said)
    for key in ("schema", "sample"):
        if getattr(source, key) is not None:
            checker.add((*place, key), f"'{key}' does not go with 'registry', which has the schema")
    if source.framing != "none":
        checker.add((*place, "framing"), "does not go with 'registry', whose records all have its header")
    said_of = written_out(source.registry)
    if said_of.subject is None and source.topic is None:
        said = "needs the 'subject' that records are read as, since the source has no single 'topic'"
        checker.add((*place, "registry"), said)
    if not said_of.register:
        checker.add((*place, "registry", "register"), "is for sinks; a source registers nothing")
    _check(said_of, directory, (*place, "registry"), checker)


def check_sink_registry(sink: Sink, directory: Path, place: Place, checker: Checker) -> None:
    if sink.registry is None:
        return
    if sink.encode is None:
        checker.add((*place, "registry"), "is for 'encode: json', 'avro' and 'protobuf'")
    for key in ("framing", "schema_id"):
        if getattr(sink, key) not in (None, "none"):
            checker.add((*place, key), f"'{key}' does not go with 'registry', which gives the id")
    said_of = written_out(sink.registry)
    if said_of.version is not None and said_of.register:
        said = "goes with 'register: false': what is registered gets a version of its own"
        checker.add((*place, "registry", "version"), said)
    if not said_of.register and sink.schema is not None:
        said = "does not go with 'register: false', which writes with a schema that the registry has"
        checker.add((*place, "schema"), said)
    if said_of.register and sink.encode == "protobuf" and (sink.schema is None or sink.message is None):
        said = (
            "Protobuf needs a 'schema' (the path of a descriptor set) and the 'message' to register;"
            " 'register: false' writes with the newest version of the subject"
        )
        checker.add((*place, "registry"), said)
    _check(said_of, directory, (*place, "registry"), checker)


def _check(registry: Registry, directory: Path, place: Place, checker: Checker) -> None:
    if registry.version is not None and registry.version < 1:
        checker.add((*place, "version"), "versions begin with 1; leave it out to read with the newest")
    if registry.password is not None and registry.user is None:
        checker.add((*place, "password"), "has no 'user' to go with")
    if registry.token is not None and registry.user is not None:
        checker.add((*place, "token"), "'token' and 'user' exclude each other")
    try:
        registry_options(registry, directory)
    except BadSchema as error:
        checker.add(place, str(error))
