"""Deletion, settings, modes, and what a compatibility check says."""

import pytest

from tests.rigs.local_registry import LocalRegistry, body_of, record, versions


@pytest.fixture
def registry():
    made = LocalRegistry()
    made.register("orders-value", record("a"))
    made.register("orders-value", record("a", "b"))
    return made


def test_a_version_is_deleted_softly_then_for_good(registry):
    path = f"{versions('orders-value')}/1"
    assert registry.delete(path, "permanent=true").code == 40407
    assert registry.delete(path).json == 1
    assert registry.delete(path).code == 40406
    assert registry.get(versions("orders-value")).json == [2]
    assert registry.get("/schemas/ids/1").status == 200, "records still carry the id"
    assert registry.delete(path, "permanent=true").json == 1
    assert registry.get("/schemas/ids/1").code == 40403


def test_a_subject_is_deleted_softly_then_for_good(registry):
    assert registry.delete("/subjects/orders-value", "permanent=true").code == 40405
    assert registry.delete("/subjects/orders-value").json == [1, 2]
    assert registry.delete("/subjects/orders-value").code == 40404
    assert registry.delete("/subjects/orders-value", "permanent=true").json == [1, 2]
    assert registry.delete("/subjects/orders-value").code == 40401
    assert registry.register("orders-value", record("new")) == 3, "ids are not given twice"


def test_what_others_refer_to_stays(registry):
    person = {"type": "record", "name": "Person", "fields": [{"name": "order", "type": "Order"}]}
    reference = {"name": "Order", "subject": "orders-value", "version": 2}
    registry.register("person-value", person, references=[reference])
    assert registry.delete(f"{versions('orders-value')}/2").code == 42206
    assert registry.delete("/subjects/orders-value").code == 42206


def test_levels_of_everything_and_of_a_subject(registry):
    assert registry.get("/config").json == {"compatibilityLevel": "BACKWARD"}
    assert registry.put("/config", {"compatibility": "full"}).json == {"compatibility": "FULL"}
    assert registry.get("/config").json == {"compatibilityLevel": "FULL"}
    assert registry.get("/config/orders-value").code == 40408
    assert registry.get("/config/orders-value", "defaultToGlobal=true").json == {"compatibilityLevel": "FULL"}
    registry.put("/config/orders-value", {"compatibility": "NONE", "normalize": True})
    assert registry.get("/config/orders-value").json == {"compatibilityLevel": "NONE", "normalize": True}
    assert registry.delete("/config/orders-value").json["compatibilityLevel"] == "NONE"
    assert registry.delete("/config/orders-value").code == 40401
    assert registry.delete("/config").json == {"compatibilityLevel": "FULL"}
    assert registry.get("/config").json == {"compatibilityLevel": "BACKWARD"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"compatibility": "SOMETIMES"}, 42203),
        ({"compatibility": 7}, 42203),
        ({"normalize": "often"}, 422),
        ([], 400),
        ({"defaultRuleSet": {"domainRules": 1}}, 42210),
    ],
)
def test_a_bad_setting_is_refused(registry, body, code):
    written = registry.records
    assert registry.put("/config/orders-value", body).code == code
    assert registry.records == written


def test_modes(registry):
    assert registry.get("/mode").json == {"mode": "READWRITE"}
    assert registry.get("/mode/orders-value").code == 40409
    assert registry.put("/mode/orders-value", {"mode": "READONLY"}).json == {"mode": "READONLY"}
    assert registry.get("/mode/orders-value").json == {"mode": "READONLY"}
    assert registry.post(versions("orders-value"), body_of(record("a", "c"))).code == 42205
    assert registry.put("/mode/orders-value", {"mode": "SLEEPY"}).code == 42204
    assert registry.put("/mode", {"mode": "IMPORT"}).code == 42205
    assert registry.put("/mode", {"mode": "IMPORT"}, "force=true").status == 200
    assert registry.delete("/mode/orders-value").json == {"mode": "READONLY"}
    assert registry.delete("/mode/orders-value").code == 40401


def test_settings_of_a_context(registry):
    registry.put("/contexts/.staging/config", {"compatibility": "NONE"})
    got = registry.get("/contexts/.staging/config/any", "defaultToGlobal=true")
    assert got.json == {"compatibilityLevel": "NONE"}
    assert registry.get("/config").json == {"compatibilityLevel": "BACKWARD"}


def test_a_context_is_deleted_once_it_is_empty(registry):
    registry.register(":.staging:a", '"string"')
    assert registry.delete("/contexts/.staging").code == 42211
    registry.delete("/subjects/%3A.staging%3Aa")
    registry.delete("/subjects/%3A.staging%3Aa", "permanent=true")
    assert registry.delete("/contexts/.staging") == (204, None)
    assert registry.get("/contexts").json == ["."]


def test_a_check_says_what_a_registration_would(registry):
    path = "/compatibility/subjects/orders-value/versions"
    good, bad = body_of(record("a", "c")), body_of(record("c", defaults=False))
    written = registry.records
    assert registry.post(path, good).json == {"is_compatible": True}
    assert registry.post(f"{path}/latest", good, "verbose=true").json == {
        "is_compatible": True,
        "messages": [],
    }
    assert registry.post(f"{path}/1", bad).json == {"is_compatible": False}
    got = registry.post(path, bad, "verbose=true").json
    assert not got["is_compatible"]
    assert "'c'" in got["messages"][0]
    assert registry.post(f"{path}/9", good).code == 40402
    assert registry.post(path, body_of("nonsense")).code == 42201
    assert registry.post(path, body_of("nonsense"), "verbose=true").json["is_compatible"] is False
    assert registry.post("/compatibility/subjects/none/versions", good).json == {"is_compatible": True}
    assert registry.post("/compatibility/subjects/none/versions/latest", good).json == {"is_compatible": True}
    assert registry.records == written


def test_a_mode_of_null_leaves_the_scope_without_its_own():
    registry = LocalRegistry()
    registry.put("/mode/orders-value", {"mode": "READONLY"})
    assert registry.put("/mode/orders-value", {"mode": None}).json == {}
    assert registry.get("/mode/orders-value").code == 40409
