"""Questions to the state."""

import pytest

from tests.rigs.registry import Registry, schema
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.state import lookups
from tidelog.registry.state.lookups import LATEST, Which
from tidelog.registry.state.stored import Place


@pytest.fixture
def registry():
    registry = Registry()
    registry.register("orders-value", "x")
    registry.register("orders-value", "y")
    registry.register("orders-key", "x")
    registry.register("gone", "z")
    registry.register(":.c:orders-value", "w")
    registry.run(registry.shard.delete_subject("gone"))
    registry.run(registry.shard.delete_version("orders-value", 2))
    return registry


def code(question, *arguments, **options):
    with pytest.raises(RegistryError) as refusal:
        question(*arguments, **options)
    return refusal.value.code


def test_subjects(registry):
    names = lookups.subject_names
    assert names(registry.state) == [":.c:orders-value", "orders-key", "orders-value"]
    assert names(registry.state, "") == ["orders-key", "orders-value"]
    assert names(registry.state, "orders-v") == ["orders-value"]
    assert names(registry.state, ":*:orders-v") == [":.c:orders-value", "orders-value"]
    assert names(registry.state, ":.c:") == [":.c:orders-value"]
    assert names(registry.state, "g", Which.ALL) == ["gone"]
    assert names(registry.state, which=Which.DELETED) == ["gone"]


def test_versions(registry):
    def numbers(subject, which):
        return [one.version for one in lookups.versions_of(registry.state, subject, which)]

    assert numbers("orders-value", Which.LIVE) == [1]
    assert numbers("orders-value", Which.ALL) == [1, 2]
    assert numbers("orders-value", Which.DELETED) == [2]
    assert code(lookups.versions_of, registry.state, "gone") == RegistryCode.SUBJECT_NOT_FOUND


def test_a_version(registry):
    version_of = lookups.version_of
    assert version_of(registry.state, "orders-value", LATEST).version == 1
    assert version_of(registry.state, "orders-value", 2, deleted=True).schema.text == "y"
    assert code(version_of, registry.state, "gone", LATEST, deleted=True) == RegistryCode.VERSION_NOT_FOUND
    assert code(version_of, registry.state, "orders-value", 2) == RegistryCode.VERSION_NOT_FOUND
    assert code(version_of, registry.state, "orders-value", 3, deleted=True) == RegistryCode.VERSION_NOT_FOUND
    assert code(version_of, registry.state, "gone", 1) == RegistryCode.SUBJECT_NOT_FOUND
    assert code(version_of, registry.state, "gone", LATEST) == RegistryCode.SUBJECT_NOT_FOUND


@pytest.mark.parametrize("given", ["0", "-2", "x", "", "2147483648", "1.5", "٣", "9" * 5000])
def test_no_version(given):
    assert code(lookups.checked_version, given) == RegistryCode.INVALID_VERSION


def test_versions_of_a_path():
    assert [lookups.checked_version(one) for one in ("1", "latest", "-1", "2147483647")] == [
        1,
        -1,
        -1,
        2**31 - 1,
    ]


def test_ids(registry):
    state = registry.state
    assert lookups.by_id(state, 1).schema.text == "x"
    assert lookups.by_id(state, 3).deleted  # a consumer may still meet it
    assert lookups.by_id(state, 1, ":.c:").schema.text == "w"
    assert lookups.by_id(state, 1, "orders-key").subject == "orders-key"
    assert lookups.by_id(state, 3, "orders-value").subject == "gone"
    assert code(lookups.by_id, state, 9) == RegistryCode.SCHEMA_NOT_FOUND
    assert code(lookups.by_id, state, 2, ":.c:") == RegistryCode.SCHEMA_NOT_FOUND
    assert code(lookups.by_id, state, 1, ":.c:other") == RegistryCode.SCHEMA_NOT_FOUND


def test_an_id_of_another_context_is_found_by_its_subject():
    registry = Registry()
    registry.register("other", "v")
    registry.register(":.c:first", "x")
    registry.register(":.c:orders", "w")
    assert lookups.by_id(registry.state, 2, "orders").schema.text == "w"


def test_where_an_id_is_registered(registry):
    first = lookups.by_id(registry.state, 1)
    assert [one.subject for one in lookups.places_of(registry.state, first)] == ["orders-key", "orders-value"]
    deleted = lookups.by_id(registry.state, 3)
    assert lookups.places_of(registry.state, deleted) == []
    assert [one.place for one in lookups.places_of(registry.state, deleted, deleted=True)] == [
        Place("gone", 1)
    ]


def test_guids(registry):
    registry.register(":.c:again", "x")
    guid = lookups.by_id(registry.state, 1).guid
    assert lookups.ids_of_guid(registry.state, guid) == [(".", 1), (".c", 2)]
    assert code(lookups.ids_of_guid, registry.state, "x") == RegistryCode.SCHEMA_NOT_FOUND
    assert code(lookups.ids_of_guid, registry.state, "0" * 32) == RegistryCode.SCHEMA_NOT_FOUND


def test_what_refers_to_a_version(registry):
    registry.register("b", schema("q", ("n", "orders-key", 1)))
    referring = lookups.referring
    assert [one.subject for one in referring(registry.state, Place("orders-key", 1))] == ["b"]
    registry.run(registry.shard.delete_subject("b"))
    assert referring(registry.state, Place("orders-key", 1)) == []
    assert len(referring(registry.state, Place("orders-key", 1), deleted=True)) == 1
