"""Schemas with their references, asked for once, and answers of any shape."""

from typing import Any

import pytest

from tests.unit.blocking.registry.scripted_http import A, Answer, ScriptedHttp, refused
from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.errors import NotARegistry, RegistryRefused
from tidelog.registry.schema import Dependency, Reference, Schema, SchemaType

AVRO = Schema(SchemaType.AVRO, '"string"')


def version(subject: str, number: int, text: str, *references: tuple[str, str, int]) -> Answer:
    named = [dict(zip(("name", "subject", "version"), one, strict=True)) for one in references]
    return Answer(
        {
            "subject": subject,
            "version": number,
            "id": 9,
            "schema": text,
            "references": named,
            "schemaType": "JSON",
        }
    )


def scripted(*answers: Any) -> tuple[ScriptedHttp, RegistryClient]:
    script = ScriptedHttp({A: list(answers)})
    return script, script.client(retry_s=0.0)


def test_a_schema_is_asked_for_once() -> None:
    script, client = scripted(Answer({"schema": '"string"'}))
    assert client.schema(7) == client.schema(7) == AVRO
    assert script.targets == ["GET /schemas/ids/7"]


def test_a_guid_and_a_context_have_their_own_paths() -> None:
    script, client = scripted(Answer({"schema": '"int"'}), Answer({"schema": '"long"'}))
    client.schema("89791762-2336-4186-9674-299b90a802e2")
    client.schema(7, subject=":.ctx:s")
    assert script.targets == [
        "GET /schemas/guids/89791762-2336-4186-9674-299b90a802e2",
        "GET /schemas/ids/7?subject=%3A.ctx%3As",
    ]


def test_an_id_that_no_registry_gives_is_not_asked_for() -> None:
    """Records of other bytes name such ids, and a registry has no path for them."""
    script, client = scripted()
    with pytest.raises(RegistryRefused) as caught:
        client.schema(2**31)
    assert caught.value.is_not_found
    assert script.targets == []


def test_memory_is_limited() -> None:
    script = ScriptedHttp({A: [Answer({"schema": '"int"'}) for _ in range(4)]})
    client = script.client(cached_schemas_max=2)
    for schema_id in (1, 2, 3, 1):
        client.schema(schema_id)
    assert len(script.asked) == 4


def test_dependencies_come_before_their_dependents_each_once() -> None:
    script, client = scripted(
        version("b", 2, "B", ("c.json", "c", 1)),
        version("c", 1, "C"),
        version("d", 1, "D", ("c.json", "c", 1)),
    )
    schema = Schema(SchemaType.JSON, "A", (Reference("b.json", "b", 2), Reference("d.json", "d", 1)))
    assert client.dependencies(schema, None) == (
        Dependency("c.json", "C"),
        Dependency("b.json", "B"),
        Dependency("d.json", "D"),
    )
    assert client.dependencies(schema, None), "from memory"
    assert len(script.asked) == 3


def test_references_in_a_circle_end() -> None:
    _, client = scripted(version("b", 1, "B", ("a.json", "a", 1)), version("a", 1, "A", ("b.json", "b", 1)))
    schema = Schema(SchemaType.JSON, "A", (Reference("b.json", "b", 1),))
    assert {name for name, _ in client.dependencies(schema, None)} == {"a.json", "b.json"}


def test_a_lookup_of_what_is_not_there_is_none() -> None:
    _, client = scripted(
        refused(40403), Answer({"subject": "s", "version": 2, "id": 5, "schema": '"string"'})
    )
    assert client.lookup("s", AVRO) is None
    found = client.lookup("s", AVRO)
    assert found is not None
    assert (found.version, found.id) == (2, 5)


def test_a_registration_sends_type_and_references_and_an_import_id_and_version() -> None:
    script, client = scripted(Answer({"id": 5}), Answer({"id": 9}))
    referring = Schema(SchemaType.PROTOBUF, "x", (Reference("a.proto", "a", 1),), {"tags": {}})
    assert client.register("s", referring, normalize=True) == 5
    assert script.asked[0].target == "/subjects/s/versions?normalize=true"
    assert script.asked[0].body == {
        "schema": "x",
        "schemaType": "PROTOBUF",
        "references": [{"name": "a.proto", "subject": "a", "version": 1}],
        "metadata": {"tags": {}},
    }
    client.register("s", AVRO, id=9, version=3)
    assert (script.asked[1].body["id"], script.asked[1].body["version"]) == (9, 3)


def test_a_subject_without_a_config_or_mode_of_its_own_has_none() -> None:
    _, client = scripted(refused(40408), refused(40409), Answer({"compatibilityLevel": "FULL"}))
    assert client.config("s") is None
    assert client.mode("s") is None
    assert client.config() == {"compatibilityLevel": "FULL"}


@pytest.mark.parametrize(
    "answer", [None, 5, [], {}, {"schema": 5, "schemaType": "XML"}, {"schema": "x", "references": [1]}]
)
def test_answers_of_another_shape_are_no_bug(answer: Any) -> None:
    _, client = scripted(Answer(answer))
    with pytest.raises(NotARegistry):
        client.schema(1)


def test_all_versions_come_in_pages_or_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.blocking.registry.client.PAGE_VERSIONS", 2)

    def page(*numbers: int) -> Answer:
        return Answer([{"subject": "s", "version": n, "id": n, "schema": '"int"'} for n in numbers])

    script, client = scripted(page(1, 2), page(3))
    assert [one.version for one in client.all_versions(prefix="s")] == [1, 2, 3]
    assert script.targets[1] == "GET /schemas?subjectPrefix=s&offset=2&limit=2"
    for pages in ([page(1, 2, 3)], [page(1, 2), page(1, 2)], [page()]):
        _, client = scripted(*pages)
        assert len(client.all_versions()) in (0, 2, 3)
