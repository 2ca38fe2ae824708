"""A schema is registered: what the client gets, and what it gets in place of it."""

import json

import pytest

from tests.rigs.local_registry import LocalRegistry, body_of, record, versions


def test_a_schema_gets_an_id_and_a_version():
    registry = LocalRegistry()
    got = registry.post(versions("orders-value"), body_of('"string"'))
    assert got.status == 200
    assert got.json["id"] == 1
    assert got.json["version"] == 1
    assert set(got.json) == {"id", "version", "guid"}


def test_the_schema_is_in_the_answer_where_it_is_asked_for_or_more_is_stored_than_was_sent():
    registry = LocalRegistry()
    path, schema = versions("orders-value"), record("a")
    formatted = registry.post(path, body_of(schema), "format=resolved")
    assert formatted.json["schemaType"] == "AVRO"
    assert '"name":"a"' in formatted.json["schema"]
    metadata = {"properties": {"owner": "shop"}}
    sent = registry.post(path, body_of(schema, metadata=metadata))
    assert set(sent.json) == {"id", "version", "guid"}
    completed = registry.post(path, body_of(record("a", "b")))
    assert completed.json["metadata"] == metadata
    assert "schema" in completed.json


def test_the_same_schema_again_is_the_same_and_is_not_parsed_again():
    registry = LocalRegistry()
    first = registry.register("orders-value", record("a"))
    written, jobs = registry.records, len(registry.jobs)
    canonical = registry.get(f"/schemas/ids/{first}/schema").json
    assert registry.register("orders-value", canonical) == first
    assert registry.records == written
    assert len(registry.jobs) <= jobs + 1


def test_the_same_schema_has_the_same_id_in_every_subject():
    registry = LocalRegistry()
    ids = {registry.register(subject, record("a")) for subject in ("a-value", "b-value", "com.example.Order")}
    assert len(ids) == 1
    assert registry.register("a-value", record("a", "b")) == 2


def test_a_subject_that_changed_meanwhile_is_compared_again():
    registry = LocalRegistry()
    registry.register("orders-value", record("a"))

    def overtake():
        registry.on_prepare = lambda: None
        registry.register("orders-value", record("a", "other"))

    registry.on_prepare = overtake
    got = registry.post(versions("orders-value"), body_of(record("a", "mine")))
    assert (got.status, got.json["version"]) == (200, 3)
    assert len(registry.jobs) == 4, "the overtaken one was prepared twice"


def test_a_subject_that_changes_all_the_time_ends_in_an_error():
    registry = LocalRegistry()
    number = 0

    def overtake():
        nonlocal number
        number += 1
        before, registry.on_prepare = registry.on_prepare, lambda: None
        registry.register("orders-value", record("a", f"other{number}"))
        registry.on_prepare = before

    registry.on_prepare = overtake
    got = registry.post(versions("orders-value"), body_of(record("a", "mine")))
    assert (got.status, got.code) == (500, 50002)
    assert "mine" not in str(registry.get("/schemas").json)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (body_of("not a schema"), 42201),
        (body_of(""), 42201),
        ({}, 42201),
        (body_of('"string"', schemaType="XML"), 42201),
        (body_of('"string"', references=[{"name": "x", "subject": "missing", "version": 1}]), 42201),
        (body_of('"string"', references=[{"name": "x"}]), 400),
        (body_of('"string"', references="all"), 400),
        (body_of('"string"', metadata={"properties": {"a": 1}}), 422),
        (body_of('"string"', ruleSet={"domainRules": [{"name": "!"}]}), 42210),
        (body_of('"string"', id=7), 42205),
        (body_of('"string"', version=7), 42201),
        ({"schema": 7}, 400),
        ([], 400),
        ("text", 400),
        (None, 400),
    ],
)
def test_a_bad_schema_has_confluents_code_and_nothing_is_stored(body, code):
    registry = LocalRegistry()
    got = registry.post(versions("orders-value"), body)
    assert got.code == code, got
    assert got.status == int(str(code)[:3])
    assert got.json["message"]
    assert registry.records == 0


@pytest.mark.parametrize("subject", ["__GLOBAL", "a\x01b", "x" * 3000])
def test_a_subject_that_cannot_be_is_refused(subject):
    registry = LocalRegistry()
    assert registry.post(versions(subject), body_of('"string"')).code == 42208


def test_an_incompatible_schema_is_refused_with_the_field_that_breaks_the_rule():
    registry = LocalRegistry()
    registry.register("orders-value", record("a"))
    got = registry.post(versions("orders-value"), body_of(record("a", "b", defaults=False)))
    assert (got.status, got.code) == (409, 40901)
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in got.json["message"]


def test_force_and_another_level_let_it_pass():
    registry = LocalRegistry()
    registry.register("orders-value", record("a"))
    registry.register("orders-value", record("b", defaults=False), "force=true")
    registry.put("/config/orders-value", {"compatibility": "NONE"})
    registry.register("orders-value", '"string"')


def test_normalize_makes_texts_of_one_meaning_the_same():
    registry = LocalRegistry()
    other_order = '{"fields": [], "name": "E", "namespace": "n", "type": "record"}'
    full_name = '{"type": "record", "name": "n.E", "fields": []}'
    first = registry.register("e-value", full_name, "normalize=true")
    assert registry.register("e-value", other_order, "normalize=true") == first


def test_schemas_refer_to_others():
    registry = LocalRegistry()
    registry.register("address", record("street", name="Address"))
    person = {"type": "record", "name": "Person", "fields": [{"name": "home", "type": "Address"}]}
    reference = {"name": "Address", "subject": "address", "version": 1}
    schema_id = registry.register("person-value", person, references=[reference])
    got = registry.get("/subjects/person-value/versions/latest")
    assert got.json["references"] == [reference]
    assert registry.get("/subjects/address/versions/1/referencedby").json == [schema_id]
    resolved = registry.get(f"/schemas/ids/{schema_id}", "format=resolved").json["schema"]
    assert "street" in resolved


def test_ids_can_be_imported():
    registry = LocalRegistry()
    registry.put("/mode", {"mode": "IMPORT"})
    got = registry.post(versions("orders-value"), body_of('"string"', id=42, version=3))
    assert (got.json["id"], got.json["version"]) == (42, 3)
    assert registry.post(versions("other-value"), body_of('"int"', id=42, version=1)).status == 422


def test_metadata_and_rules_are_given_back():
    registry = LocalRegistry()
    metadata = {"properties": {"owner": "shop"}, "tags": {"a": ["PII"]}}
    rules = {
        "domainRules": [
            {"name": "check", "kind": "CONDITION", "type": "CEL", "mode": "WRITE", "expr": "true"}
        ]
    }
    registry.register("orders-value", record("a"), metadata=metadata, ruleSet=rules)
    got = registry.get("/subjects/orders-value/versions/1").json
    assert got["metadata"]["properties"] == {"owner": "shop"}
    assert got["ruleSet"]["domainRules"][0]["expr"] == "true"
    assert registry.get("/schemas", "ruleType=CEL").json[0]["subject"] == "orders-value"
    assert registry.get("/schemas", "ruleType=ENCRYPT").json == []
    assert registry.get("/subjects/orders-value/metadata", "key=owner&value=shop").json["version"] == 1
    assert registry.get("/subjects/orders-value/metadata", "key=owner&value=me").code == 40403


def test_normalized_references_have_no_order():
    registry = LocalRegistry()
    registry.register("one", record("a", name="One"))
    registry.register("two", record("a", name="Two"))
    references = [{"name": name.title(), "subject": name, "version": 1} for name in ("two", "one")]
    fields = [{"name": name, "type": name.title()} for name in ("one", "two")]
    both = {"type": "record", "name": "Both", "fields": fields}
    first = registry.register("both", both, "normalize=true", references=references)
    kept = registry.get("/subjects/both/versions/1").json["references"]
    assert [reference["subject"] for reference in kept] == ["one", "two"]
    for order in (references, references[::-1]):
        body = body_of(both, references=order)
        assert registry.post("/subjects/both", body, "normalize=true").json["id"] == first
        assert registry.register("both", both, "normalize=true", references=order) == first
    assert registry.post("/subjects/both", body_of(both, references=references)).code == 40403


def test_a_new_schema_refers_to_no_deleted_version():
    registry = LocalRegistry()
    registry.register("address", record("zip", name="Address"))
    registry.delete("/subjects/address/versions/1")
    customer = {"type": "record", "name": "Customer", "fields": [{"name": "home", "type": "Address"}]}
    references = [{"name": "Address", "subject": "address", "version": 1}]
    refused = registry.post(versions("customer"), body_of(customer, references=references))
    assert (refused.status, refused.code) == (422, 42201)
    assert "address" in refused.json["message"]


def test_in_import_mode_a_known_schema_needs_no_id():
    registry = LocalRegistry()
    registry.put("/mode", {"mode": "IMPORT"})
    registry.register("orders-value", record("a"), id=7, version=1)
    assert registry.register("orders-value", record("a")) == 7, "a client that registers at each start"
    assert registry.post(versions("orders-value"), body_of(record("b"))).code == 42205


def test_a_schema_without_metadata_is_compared_within_the_group_that_it_takes_over():
    registry = LocalRegistry()
    registry.put("/config", {"compatibilityGroup": "major"})
    registry.register("orders-value", record("a"), metadata={"properties": {"major": "1"}})
    unlike = record("a", "b", defaults=False)
    assert registry.post(versions("orders-value"), body_of(unlike)).code == 40901
    registry.register("orders-value", unlike, metadata={"properties": {"major": "2"}})


def test_tags_that_would_be_lost_are_refused():
    registry = LocalRegistry()
    tag = {"schemaEntity": {"entityPath": "Order.a", "entityType": "sr_field"}, "tags": ["PII"]}
    for field in ("schemaTagsToAdd", "schemaTagsToRemove"):
        got = registry.post(versions("orders-value"), body_of(record("a"), **{field: [tag]}))
        assert (got.code, "in 'metadata'" in got.json["message"]) == (422, True)
    registry.register("orders-value", record("a"), schemaTagsToAdd=[])


def test_the_lenient_policy_is_that_of_the_configuration():
    registry = LocalRegistry()
    text = {"type": "string"}
    first = {"type": "object", "properties": {"a": text}}
    second = {"type": "object", "properties": {"a": text, "b": text}}
    registry.register("orders-value", first, schemaType="JSON")
    assert registry.post(versions("orders-value"), body_of(second, schemaType="JSON")).code == 40901
    registry.put("/config", {"compatibilityPolicy": "LENIENT"})
    check = f"/compatibility{versions('orders-value')}/latest"
    assert registry.post(check, body_of(second, schemaType="JSON")).json == {"is_compatible": True}
    registry.register("orders-value", second, schemaType="JSON")


def test_reserved_fields_are_checked_where_the_configuration_says_so():
    registry = LocalRegistry()
    reserving = {"metadata": {"properties": {"confluent:reserved": "b,c"}}}
    registry.register("orders-value", record("a"), **reserving)
    registry.put("/config/orders-value", {"validateFields": True, "compatibility": "NONE"})
    taken = registry.post(versions("orders-value"), body_of(record("a", "b"), **reserving))
    assert (taken.code, "conflicts with the reserved field b." in taken.json["message"]) == (40901, True)
    assert "validateFields: 'true', compatibility: 'NONE'" in taken.json["message"]
    freed = {"metadata": {"properties": {"confluent:reserved": "c"}}}
    check = registry.post(
        f"/compatibility{versions('orders-value')}", body_of(record("a", "d"), **freed), "verbose=true"
    )
    assert "reserved field b removed" in check.json["messages"][0]
    registry.register("orders-value", record("a", "d"), **reserving)
    registry.register("orders-value", record("a", "e"))  # takes over what is reserved
    registry.put("/config/orders-value", {"validateFields": False})
    registry.register("orders-value", record("a", "b"), **freed)


@pytest.mark.parametrize(
    "path", [versions("orders-value"), f"/compatibility{versions('orders-value')}/latest"]
)
def test_defaults_of_new_schemas_are_checked_unless_the_configuration_says_otherwise(path: str):
    registry = LocalRegistry()
    odd = {"type": "record", "name": "Order", "fields": [{"name": "a", "type": "int", "default": "x"}]}
    assert registry.post(path, body_of(odd)).code == 42201
    registry.put("/config/orders-value", {"validateNewSchemas": False})
    assert registry.post(path, body_of(odd)).status == 200


def test_a_setting_of_another_registry_stops_no_call():
    rules = {"domainRules": [{"name": "n", "type": "CEL", "kind": "CONDITION", "mode": "READ"}]}
    nameless = {"domainRules": [{"type": "CEL"}]}
    for foreign in (
        {"compatibilityLevel": "SOMEWHAT"},
        {"defaultRuleSet": nameless, "overrideRuleSet": nameless},
        {"defaultMetadata": {"tags": 5}},
        {"alias": 7},
        {"compatibilityGroup": ["team"]},
    ):
        registry = LocalRegistry()
        key = b'{"keytype":"CONFIG","subject":"orders-value","magic":0}'
        registry.shard.replay(key, json.dumps(foreign).encode())
        registry.register("orders-value", record("a"), ruleSet=rules)
        registry.register("orders-value", record("a", "b"))
        for path in ("/subjects/orders-value", f"/compatibility{versions('orders-value')}"):
            assert registry.post(path, body_of(record("a", "b"))).status == 200
        assert registry.get("/schemas", "aliases=true").status == 200
        assert registry.get("/config/orders-value", "defaultToGlobal=true").status == 200
