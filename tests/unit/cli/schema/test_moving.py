"""Schemas from one registry to a directory and to another registry, with their ids."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.schema.memory_registry import IMPORT, MemoryRegistry, avro
from tidelog.blocking.registry.errors import RegistryRefused
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.schema.moving.directory import MANIFEST, directory_name, read_directory, write_directory
from tidelog.cli.schema.moving.exported import (
    Exported,
    ExportedSubject,
    ExportedVersion,
    Place,
    in_order,
)
from tidelog.cli.schema.moving.plan import plan_import
from tidelog.cli.schema.moving.reading import read_registry
from tidelog.cli.schema.moving.writing import carry_out
from tidelog.registry.schema import Reference, Schema, SchemaType

USING = Schema(SchemaType.PROTOBUF, 'import "b.proto";', (Reference("b.proto", "zzz", 2),))


def source() -> MemoryRegistry:
    made = MemoryRegistry()
    made.add("zzz", 1, 10, avro()).add("zzz", 2, 11, avro('"int"')).add("a/b", 1, 12, USING)
    made.configs["zzz"] = {"compatibilityLevel": "FULL"}
    made.modes["a/b"] = "READONLY"
    return made


def read(registry: Any, *subjects: str, **how: Any) -> Exported:
    return read_registry(registry, subjects, **how)


def bring(exported: Exported, target: Any, **how: bool) -> list[str]:
    return carry_out(target, exported, plan_import(target, exported), **how)


def test_an_import_keeps_ids_versions_modes_and_configs() -> None:
    target: Any = MemoryRegistry()
    exported = read(source())
    assert bring(exported, target, with_configs=True) == ["zzz"]
    assert target.registered == [("zzz", 1, 10), ("zzz", 2, 11), ("a/b", 1, 12)]
    assert target.modes == {None: "READWRITE", "a/b": "READONLY"}
    assert target.configs["zzz"] == {"compatibilityLevel": "FULL"}
    assert bring(exported, target, with_configs=True, with_global=True) == [], "as it is already"


def test_what_contexts_are_set_to_comes_along() -> None:
    made: Any = MemoryRegistry().add(":.staging:orders", 1, 1, avro()).add("orders", 1, 1, avro())
    made.configs[":.staging:"] = {"compatibilityLevel": "FULL"}
    exported, target = read(made), MemoryRegistry()
    assert bring(exported, target, with_configs=True) == [":.staging:"]
    assert target.configs[":.staging:"] == {"compatibilityLevel": "FULL"}
    assert [one.name for one in read(made, ":.staging:orders").subjects] == [":.staging:orders"]


def test_an_import_can_be_repeated_and_completed() -> None:
    target: Any = MemoryRegistry()
    target.fails_at = ("zzz", 2)
    with pytest.raises(RegistryRefused):
        bring(read(source()), target)
    assert IMPORT not in target.modes.values(), "an import that fails leaves no mode behind"
    target.fails_at = None
    target.modes["zzz"] = IMPORT  # as a killed run leaves it
    bring(read(source()), target)
    assert target.registered == [("zzz", 1, 10), ("zzz", 2, 11), ("a/b", 1, 12)]
    assert "zzz" not in target.modes
    plan = plan_import(target, read(source()))
    assert (plan.to_register, len(plan.present), plan.conflicts) == ([], 3, [])


def test_taken_ids_and_versions_are_conflicts() -> None:
    target: Any = MemoryRegistry().add("other", 1, 11, avro('"long"')).add("zzz", 1, 99, avro())
    conflicts = plan_import(target, read(source())).conflicts
    assert conflicts == [
        "'zzz' version 1: it is there already with id 99 instead of 10.",
        "'zzz' version 2: id 11 belongs to another schema in this registry already.",
    ]
    assert target.registered == []


def test_a_registry_in_mode_import_stays_so() -> None:
    target: Any = MemoryRegistry()
    target.modes[None] = IMPORT
    bring(read(source()), target)
    assert target.modes == {None: IMPORT}


def test_referenced_versions_come_along() -> None:
    exported = read(source(), "a/b")
    assert [one.place for one in exported.versions()] == [Place("a/b", 1), Place("zzz", 2)]


def test_a_subject_that_is_not_there_is_not_exported_as_nothing() -> None:
    with pytest.raises(RegistryRefused, match="'nope' not found"):
        read(source(), "a/b", "nope")


def test_soft_deleted_versions_are_deleted_again() -> None:
    origin: Any = source()
    origin.hidden.add(("zzz", 1))
    assert [one.place for one in read(origin).versions()] == [Place("a/b", 1), Place("zzz", 2)]
    target: Any = MemoryRegistry()
    bring(read(origin, deleted=True), target)
    assert target.hidden == {("zzz", 1)}


def test_a_directory_holds_all_of_it(tmp_path: Path) -> None:
    origin: Any = source().add(
        "zzz", 3, 13, Schema(SchemaType.JSON, "{}", (), {"tags": {}}, {"domainRules": []})
    )
    origin.hidden.add(("zzz", 1))
    exported = read(origin, deleted=True)
    assert write_directory(exported, tmp_path / "out") == 4
    assert (tmp_path / "out/subjects/a%2Fb/1.proto").read_text() == USING.text
    back = read_directory(tmp_path / "out")
    assert back == Exported(str(tmp_path / "out"), exported.subjects, exported.config, exported.mode)


@pytest.mark.parametrize("subject", [".", "..", "../x", "", "a" * 500, ":.ctx:s", "ä/\\\0", "x\n"])
def test_any_subject_has_a_directory_of_its_own(subject: str) -> None:
    name = directory_name(subject)
    assert 0 < len(name.encode()) < 255
    assert not set(name) & set("/\\\0\n")
    assert name not in (".", "..")


def test_long_subjects_differ() -> None:
    assert directory_name("a" * 500) != directory_name("a" * 501)


@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        ("{", Exit.REFUSED),
        ("[]", Exit.REFUSED),
        ('{"format": 9}', Exit.REFUSED),
        ('{"format": 1, "subjects": [{}]}', Exit.REFUSED),
        (None, Exit.NOT_FOUND),
    ],
)
def test_what_is_no_export_is_refused(tmp_path: Path, manifest: str | None, code: Exit) -> None:
    if manifest is not None:
        (tmp_path / MANIFEST).write_text(manifest)
    with pytest.raises(CliError) as caught:
        read_directory(tmp_path)
    assert caught.value.code is code


def test_a_manifest_names_no_files_elsewhere(tmp_path: Path) -> None:
    write_directory(read(source()), tmp_path / "out")
    path = tmp_path / "out" / MANIFEST
    manifest = json.loads(path.read_text())
    manifest["subjects"][0]["versions"][0]["file"] = "../../etc/passwd"
    path.write_text(json.dumps(manifest))
    with pytest.raises(CliError, match="outside of the directory"):
        read_directory(tmp_path / "out")


def exported(*versions: tuple[str, int, list[tuple[str, int]]]) -> Exported:
    subjects: dict[str, list[ExportedVersion]] = {}
    for subject, number, references in versions:
        named = tuple(Reference(f"{other}.json", other, version) for other, version in references)
        schema = Schema(SchemaType.JSON, "{}", named)
        subjects.setdefault(subject, []).append(ExportedVersion(Place(subject, number), 1, schema))
    return Exported("x", tuple(ExportedSubject(name, tuple(found)) for name, found in subjects.items()))


def test_the_order_follows_references_and_versions() -> None:
    found = in_order(exported(("a", 1, [("b", 2)]), ("b", 2, [("c", 1)]), ("b", 1, []), ("c", 1, [])))
    assert [(one.place.subject, one.place.version) for one in found] == [
        ("c", 1),
        ("b", 1),
        ("b", 2),
        ("a", 1),
    ]


def test_many_versions_in_a_row_are_no_depth() -> None:
    chain = exported(*(("a", number, [("a", number - 1)] if number > 1 else []) for number in range(1, 5000)))
    assert [one.place.version for one in in_order(chain)] == list(range(1, 5000))


def test_circles_of_references_are_refused() -> None:
    with pytest.raises(CliError, match="in a circle"):
        in_order(exported(("a", 1, [("b", 1)]), ("b", 1, [("a", 1)])))


def test_a_registry_without_modes_can_be_read() -> None:
    """As Confluent's before 5.2."""

    class WithoutModes(MemoryRegistry):
        def mode(self, *_: Any, **__: Any) -> str | None:
            raise RegistryRefused(404, 404, "HTTP 404 Not Found")

    old: Any = WithoutModes().add("orders", 1, 1, avro())
    target: Any = MemoryRegistry()
    bring(read(old), target)
    assert target.registered == [("orders", 1, 1)]


def test_a_mode_that_cannot_be_set_is_what_the_error_speaks_of() -> None:
    class Denying(MemoryRegistry):
        def set_mode(self, *_: Any, **__: Any) -> None:
            raise RegistryRefused(403, 40301, "denied")

        def delete_mode(self, *_: Any) -> None:
            raise RegistryRefused(404, 40401, "not found")

    target: Any = Denying()
    with pytest.raises(RegistryRefused, match="denied"):
        bring(read(source()), target)
