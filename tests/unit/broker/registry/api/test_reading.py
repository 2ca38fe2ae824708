"""Schemas are found by id, by subject and version, by content, and in lists."""

import pytest

from tests.rigs.local_registry import LocalRegistry, body_of, record, versions


@pytest.fixture(scope="module")
def registry():
    made = LocalRegistry()
    made.register("orders-value", record("a"))
    made.register("orders-value", record("a", "b"))
    made.register("orders-key", '"string"')
    made.register("a/b:c", record("a"))
    made.register(":.staging:orders-value", record("staged"))
    made.register("gone-value", record("gone", name="Gone"))
    made.delete("/subjects/gone-value")
    made.put("/config/old-name", {"alias": "orders-value"})
    return made


def test_a_schema_is_found_by_its_id(registry):
    got = registry.get("/schemas/ids/1")
    assert got.status == 200
    assert set(got.json) == {"guid", "schemaType", "schema"}
    with_subject = registry.get("/schemas/ids/1", "subject=orders-value&fetchMaxId=true").json
    assert (with_subject["subject"], with_subject["version"], with_subject["maxId"]) == ("orders-value", 1, 4)
    assert registry.get("/schemas/ids/1/schema").json["name"] == "Order"


@pytest.mark.parametrize("path", ["/schemas/ids/99", "/schemas/ids/99/schema", "/schemas/ids/99/subjects"])
def test_an_unknown_id_is_not_found(registry, path):
    got = registry.get(path)
    assert (got.status, got.code, got.json["message"]) == (404, 40403, "Schema 99 not found")


@pytest.mark.parametrize("text", ["x", "1x", "99999999999", "1.0", ""])
def test_what_is_no_id_is_a_path_that_does_not_exist(registry, text):
    assert registry.get(f"/schemas/ids/{text}").code == 404


def test_the_subjects_and_versions_of_an_id(registry):
    assert registry.get("/schemas/ids/1/subjects").json == ["a/b:c", "orders-value"]
    assert registry.get("/schemas/ids/1/versions").json == [
        {"subject": "a/b:c", "version": 1},
        {"subject": "orders-value", "version": 1},
    ]
    assert registry.get("/schemas/ids/1/subjects", "offset=1").json == ["orders-value"]
    assert registry.get("/schemas/ids/4/subjects").json == []
    assert registry.get("/schemas/ids/4/subjects", "deleted=true").json == ["gone-value"]


def test_a_schema_is_found_by_its_guid(registry):
    guid = registry.get("/schemas/ids/1").json["guid"]
    got = registry.get(f"/schemas/guids/{guid}").json
    assert got == registry.get("/schemas/ids/1").json
    assert registry.get(f"/schemas/guids/{guid}/ids").json == [{"context": ".", "id": 1}]
    assert registry.get("/schemas/guids/no").code == 40403


def test_versions_of_a_subject(registry):
    assert registry.get(versions("orders-value")).json == [1, 2]
    assert registry.get(versions("orders-value"), "limit=1").json == [1]
    got = registry.get(f"{versions('a/b:c')}/1").json
    assert (got["subject"], got["version"], got["id"]) == ("a/b:c", 1, 1)
    for latest in ("latest", "-1", "2"):
        assert registry.get(f"{versions('orders-value')}/{latest}").json["version"] == 2
    assert [
        one["name"] for one in registry.get("/subjects/orders-value/versions/2/schema").json["fields"]
    ] == [
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/subjects/none/versions", 40401),
        ("/subjects/none/versions/1", 40401),
        ("/subjects/orders-value/versions/9", 40402),
        ("/subjects/orders-value/versions/0", 42202),
        ("/subjects/orders-value/versions/first", 42202),
        ("/subjects/gone-value/versions/1", 40401),
        ("/subjects/none/versions/1/referencedby", 40401),
        ("/subjects/none/metadata", 40401),
    ],
)
def test_what_is_not_there_has_confluents_code(registry, path, code):
    got = registry.get(path)
    assert (got.status, got.code) == (int(str(code)[:3]), code)


def test_deleted_versions_are_shown_to_clients_that_ask(registry):
    assert registry.get(versions("gone-value"), "deleted=true").json == [1]
    assert registry.get(versions("gone-value"), "deletedAsNegative=true").json == [-1]
    assert registry.get(f"{versions('gone-value')}/1", "deleted=true").json["deleted"] is True


def test_subjects_are_listed(registry):
    assert registry.get("/subjects").json == [":.staging:orders-value", "a/b:c", "orders-key", "orders-value"]
    assert registry.get("/subjects", "subjectPrefix=orders").json == ["orders-key", "orders-value"]
    assert registry.get("/subjects", "deletedOnly=true").json == ["gone-value"]
    assert "gone-value" in registry.get("/subjects", "deleted=true").json
    assert registry.get("/subjects", "offset=1&limit=2").json == ["a/b:c", "orders-key"]
    assert registry.get("/contexts/.staging/subjects").json == [":.staging:orders-value"]


def test_schemas_are_listed(registry):
    got = [(one["subject"], one["version"]) for one in registry.get("/schemas").json]
    assert got == [("a/b:c", 1), ("orders-key", 1), ("orders-value", 1), ("orders-value", 2)]
    got = [(one["subject"], one["version"]) for one in registry.get("/schemas", "latestOnly=true").json]
    assert got == [("a/b:c", 1), ("orders-key", 1), ("orders-value", 2)]
    assert registry.get("/schemas", "subjectPrefix=orders-v&limit=1").json[0]["version"] == 1
    assert registry.get("/schemas", "deleted=true&subjectPrefix=gone").json[0]["deleted"] is True


def test_schemas_are_listed_by_the_aliases_of_their_subject(registry):
    def listed(query):
        found = registry.get("/schemas", query).json
        return [(one["subject"], one["version"], one.get("aliases")) for one in found]

    named = [("orders-value", 1, ["old-name"]), ("orders-value", 2, ["old-name"])]
    assert listed("subjectPrefix=old-&aliases=true") == named
    assert listed("subjectPrefix=old-&aliases=true&latestOnly=true") == named[1:]
    assert [one for one in listed("aliases=true") if one[0] == "orders-value"] == named
    assert listed("subjectPrefix=old-") == []
    assert listed("subjectPrefix=orders-v&aliases=true") == [(*one[:2], None) for one in named]


def test_an_alias_is_the_subject(registry):
    assert registry.get(versions("old-name")).json == [1, 2]


def test_a_schema_is_found_by_its_content(registry):
    got = registry.post("/subjects/orders-value", body_of(record("a")))
    assert (got.json["version"], got.json["id"]) == (1, 1)
    assert registry.post("/subjects/orders-value", body_of(record("z"))).code == 40403
    assert registry.post("/subjects/none", body_of(record("a"))).code == 40401
    assert registry.post("/subjects/none", body_of("nonsense")).code == 40401
    gone = body_of(record("gone", name="Gone"))
    assert registry.post("/subjects/gone-value", gone).code == 40401
    assert registry.post("/subjects/gone-value", gone, "deleted=true").json["version"] == 1


def test_contexts_have_ids_of_their_own(registry):
    assert registry.get("/contexts").json == [".", ".staging"]
    assert registry.get("/contexts/.staging/subjects/orders-value/versions/1").json["id"] == 1
    staged = registry.get("/contexts/.staging/schemas/ids/1").json["schema"]
    assert "staged" in staged
    assert staged != registry.get("/schemas/ids/1").json["schema"]


def test_a_version_that_the_default_context_lacks_is_looked_for_in_the_others():
    made = LocalRegistry()
    for context, fields in (("b", "b"), ("a", "a")):
        for extra in ("x", "y"):
            made.register(f":.{context}:orders-value", record(fields, extra))
    first, second = (f"/subjects/orders-value/versions/{number}" for number in (1, 2))
    assert made.get(first).json["subject"] == ":.a:orders-value"
    assert made.get(f"{first}/schema").json["fields"][0]["name"] == "a"
    assert made.get(f"{first}/referencedby").json == []
    made.register("orders-value", record("own"))
    assert made.get(first).json["subject"] == "orders-value"
    assert made.get(second).json["subject"] == ":.a:orders-value"
    made.delete("/contexts/.a/subjects/orders-value")
    assert made.get(second).json["subject"] == ":.b:orders-value"
    assert made.get(second, "deleted=true").json["subject"] == ":.a:orders-value"
    assert made.get("/subjects/orders-value/versions/3").code == 40402
    assert made.get("/contexts/.c/subjects/orders-value/versions/1").code == 40401
    assert made.get(versions("orders-key")).code == 40401


def test_a_content_that_the_default_context_lacks_is_looked_for_in_the_others():
    made = LocalRegistry()
    made.register(":.a:address", record("zip", name="Address"))
    customer = {"type": "record", "name": "Customer", "fields": [{"name": "home", "type": "Address"}]}
    references = [{"name": "Address", "subject": "address", "version": 1}]
    made.register(":.a:customer", customer, references=references)
    made.register(":.b:customer", record("b"))
    for _ in range(2):
        found = made.post("/subjects/customer", body_of(customer, references=references)).json
        assert (found["subject"], found["id"]) == (":.a:customer", 2)
        assert made.post("/subjects/customer", body_of(record("b"))).json["subject"] == ":.b:customer"
        assert made.post("/contexts/.b/subjects/customer", body_of(record("c"))).code == 40403
        made.register("address", record("zip", name="Address"))
        made.register("customer", record("own"))
    assert made.post("/subjects/customer", body_of(record("c"))).code == 40403
    assert made.post("/subjects/customer", body_of("nonsense")).code == 42201


def test_what_is_served(registry):
    assert registry.get("/").json == {}
    assert set(registry.get("/schemas/types").json) == {"AVRO", "JSON", "PROTOBUF"}
    clusters = registry.get("/v1/metadata/id").json["scope"]["clusters"]
    assert clusters["kafka-cluster"] == "a-cluster"
    assert registry.get("/v1/metadata/version").json["version"]


def test_the_deployment_has_no_attributes():
    assert LocalRegistry().get("/v1/metadata/deployment").json == {"attributes": []}


def test_qualified_references_name_the_context_by_id_too():
    made = LocalRegistry()
    made.register(":.staging:address", record("zip", name="Address"))
    customer = {"type": "record", "name": "Customer", "fields": [{"name": "home", "type": "Address"}]}
    references = [{"name": "Address", "subject": "address", "version": 1}]
    schema_id = made.register(":.staging:customer", customer, references=references)
    query = "subject=%3A.staging%3Acustomer"
    for path in (f"/schemas/ids/{schema_id}", "/subjects/%3A.staging%3Acustomer/versions/1"):
        assert made.get(path, query).json["references"] == references
        qualified = made.get(path, f"{query}&referenceFormat=qualified").json["references"]
        assert [one["subject"] for one in qualified] == [":.staging:address"]


def test_a_lookup_finds_the_version_that_its_metadata_name():
    made = LocalRegistry()
    made.register("orders-value", record("a"))
    made.register("orders-value", record("a"), version=2)
    for version in (1, 2):
        metadata = {"properties": {"confluent:version": str(version)}}
        found = made.post("/subjects/orders-value", body_of(record("a"), metadata=metadata))
        assert found.json["version"] == version
