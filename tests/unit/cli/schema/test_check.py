"""Verdicts on schemas: among files, and on a registry's versions."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.blocking.registry.scripted_http import A, Answer, ScriptedHttp, refused
from tests.unit.cli.schema.memory_registry import MemoryRegistry, avro
from tidelog.blocking.registry.errors import RegistryRefused
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.schema.check import among_files, by_registry, by_versions
from tidelog.cli.schema.connection import refusal
from tidelog.cli.schema.files import SchemaFile
from tidelog.registry.compatibility import Level
from tidelog.registry.schema import Schema, SchemaType


def text(*fields: str) -> str:
    made = ",".join(f'{{"name":"{field}","type":"int"}}' for field in fields)
    return f'{{"type":"record","name":"R","fields":[{made}]}}'


def file(content: str, kind: SchemaType = SchemaType.AVRO) -> SchemaFile:
    return SchemaFile("new", kind, content)


OLD, LESS, MORE = file(text("a", "b")), file(text("a")), file(text("a", "b", "c"))


@pytest.mark.parametrize(
    ("older", "new", "level", "version"),
    [
        ([OLD], LESS, Level.BACKWARD, None),
        ([OLD], MORE, Level.BACKWARD, 1),
        ([OLD], LESS, Level.FORWARD, 1),
        ([OLD], MORE, Level.NONE, None),
        ([LESS, OLD], OLD, Level.BACKWARD, None),
        ([LESS, OLD], OLD, Level.BACKWARD_TRANSITIVE, 1),
    ],
)
def test_files_the_oldest_first(
    older: list[SchemaFile], new: SchemaFile, level: Level, version: int | None
) -> None:
    verdict = among_files(older, new, [], level)
    assert verdict.found.version == version
    assert bool(verdict.found.faults) == (version is not None)


def test_another_kind_is_incompatible() -> None:
    [fault] = among_files([OLD], file("{}", SchemaType.JSON), [], Level.BACKWARD).found.faults
    assert "different schema type" in fault.text


def test_a_broken_file_is_named() -> None:
    with pytest.raises(CliError, match=r"^new: ") as caught:
        among_files([OLD], file("{"), [], Level.BACKWARD)
    assert caught.value.code is Exit.REFUSED


class Verdicts(MemoryRegistry):
    """A registry whose word on every schema is the same."""

    def __init__(self, *messages: str) -> None:
        super().__init__()
        self.messages = messages

    def check(self, *_: Any) -> Any:
        return SimpleNamespace(is_compatible=not self.messages, messages=self.messages)


@pytest.mark.parametrize("knows_config", [True, False])
def test_a_wrong_path_is_no_first_version(knows_config: bool) -> None:
    script = ScriptedHttp({A: [Answer({"compatibilityLevel": "FULL"})] * knows_config + [refused(404)] * 2})
    with pytest.raises(RegistryRefused) as caught:
        by_registry(script.client(), "s", MORE, [], None)
    error = refusal(caught.value)
    assert (error.code, "path" in str(error)) == (Exit.UNREACHABLE, True)


def test_a_missing_subject_is_a_first_version() -> None:
    script = ScriptedHttp({A: [Answer({"compatibilityLevel": "FULL"}), refused(40401)]})
    assert by_registry(script.client(), "s", MORE, [], None).is_first


def test_what_the_registry_cannot_read_is_no_verdict() -> None:
    client: Any = Verdicts("Invalid schema of type AVRO, details: no JSON")
    with pytest.raises(CliError, match=r"^new: Invalid schema") as caught:
        by_registry(client, "s", MORE, [], None)
    assert caught.value.code is Exit.REFUSED
    client = Verdicts("{errorType:'TYPE_MISMATCH', description:'types differ', additionalInfo:'x'}")
    assert by_registry(client, "s", MORE, [], None).found.faults[0].rule == "TYPE_MISMATCH"


def test_the_lenient_policy_of_a_subject_counts_here_too() -> None:
    old = '{"type":"object","properties":{"a":{}}}'
    new = '{"type":"object","properties":{"a":{},"b":{"type":"null"}}}'
    client: Any = MemoryRegistry().add("s", 1, 1, Schema(SchemaType.JSON, old))
    later = file(new, SchemaType.JSON)
    assert by_versions(client, "s", later, [], [], None, None).found.faults
    client.configs["s"] = {"compatibilityLevel": "BACKWARD", "compatibilityPolicy": "LENIENT"}
    assert by_versions(client, "s", later, [], [], None, None).found.faults == []


def test_a_subject_s_versions_by_a_level() -> None:
    client: Any = MemoryRegistry().add("s", 1, 1, avro(LESS.text)).add("s", 2, 2, avro(OLD.text))
    assert by_versions(client, "s", OLD, [], [], None, None).found.faults == [], "BACKWARD: the latest"
    found = by_versions(client, "s", OLD, [], [], Level.BACKWARD_TRANSITIVE, None).found
    assert (found.version, found.faults[0].rule) == (1, "READER_FIELD_MISSING_DEFAULT_VALUE")
    assert by_versions(client, "s", OLD, [], [], None, "1").found.version == 1
    assert by_versions(client, "nothing", OLD, [], [], None, None).is_first
