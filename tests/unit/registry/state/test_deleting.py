"""Soft and hard deletes, and what they refuse."""

import pytest

from tests.rigs.registry import Registry, schema
from tidelog.registry.errors import RegistryCode
from tidelog.registry.mode import Mode
from tidelog.registry.state import lookups
from tidelog.registry.state.lookups import LATEST, Which


@pytest.fixture
def registry():
    registry = Registry()
    for text in "xyz":
        registry.register("a", text)
    return registry


def versions(registry, which=Which.LIVE):
    return [one.version for one in lookups.versions_of(registry.state, "a", which)]


def test_a_version_is_deleted_softly_then_for_good(registry):
    delete = registry.shard.delete_version
    assert registry.code_of(delete("a", 2, permanent=True)) == RegistryCode.VERSION_NOT_SOFT_DELETED
    assert registry.run(delete("a", 2)) == 2
    assert (versions(registry), versions(registry, Which.ALL)) == ([1, 3], [1, 2, 3])
    assert lookups.by_id(registry.state, 2).schema.text == "y"
    assert registry.code_of(delete("a", 2)) == RegistryCode.VERSION_SOFT_DELETED
    assert registry.run(delete("a", 2, permanent=True)) == 2
    assert versions(registry, Which.ALL) == [1, 3]
    assert registry.code_of(delete("a", 2)) == RegistryCode.VERSION_NOT_FOUND
    assert registry.code_of(delete("b", 1)) == RegistryCode.SUBJECT_NOT_FOUND


def test_the_latest_version(registry):
    assert registry.run(registry.shard.delete_version("a", LATEST)) == 3
    assert registry.run(registry.shard.delete_version("a", LATEST)) == 2


def test_a_subject_is_deleted_softly_then_for_good(registry):
    delete = registry.shard.delete_subject
    registry.run(registry.shard.delete_version("a", 1))
    assert registry.code_of(delete("a", permanent=True)) == RegistryCode.SUBJECT_NOT_SOFT_DELETED
    assert registry.run(delete("a")) == [2, 3]
    assert lookups.subject_names(registry.state) == []
    assert registry.code_of(delete("a")) == RegistryCode.SUBJECT_SOFT_DELETED
    assert registry.run(delete("a", permanent=True)) == [1, 2, 3]
    assert registry.code_of(delete("a")) == RegistryCode.SUBJECT_NOT_FOUND
    assert registry.register("a", "w").id == 4


def test_what_is_referred_to_stays(registry):
    registry.register("b", schema("w", ("n", "a", 2)))
    shard = registry.shard
    assert registry.code_of(shard.delete_version("a", 2)) == RegistryCode.REFERENCE_EXISTS
    assert registry.code_of(shard.delete_subject("a")) == RegistryCode.REFERENCE_EXISTS
    registry.run(shard.delete_subject("b"))
    registry.run(shard.delete_subject("a"))
    assert registry.code_of(shard.delete_subject("a", permanent=True)) == RegistryCode.REFERENCE_EXISTS
    assert registry.code_of(shard.delete_version("a", 2, permanent=True)) == RegistryCode.REFERENCE_EXISTS
    registry.run(shard.delete_subject("b", permanent=True))
    registry.run(shard.delete_subject("a", permanent=True))


def test_a_subject_that_refers_to_itself_is_deleted_as_a_whole(registry):
    registry.register("a", schema("w", ("n", "a", 3)))
    assert registry.code_of(registry.shard.delete_version("a", 3)) == RegistryCode.REFERENCE_EXISTS
    registry.delete_for_good("a")
    assert registry.state.referrers == {}


def test_settings_of_a_subject_go_with_its_last_version(registry):
    registry.run(registry.shard.change_config("a", {"compatibilityLevel": "NONE"}))
    registry.run(registry.shard.change_mode("a", Mode.READWRITE))
    registry.run(registry.shard.delete_subject("a"))
    for version in (1, 2):
        registry.run(registry.shard.delete_version("a", version, permanent=True))
    assert "a" in registry.state.configs
    registry.run(registry.shard.delete_version("a", 3, permanent=True))
    assert (registry.state.configs, registry.state.modes) == ({}, {})


def test_settings_of_a_context_stay_though_a_subject_without_a_name_goes(registry):
    """Its name is the context's: a permission to delete it is none to change the context."""
    registry.run(registry.shard.change_config(":.c:", {"compatibilityLevel": "NONE"}))
    registry.register(":.c:", "x")
    registry.delete_for_good(":.c:")
    assert ":.c:" not in registry.state.subjects
    assert ":.c:" in registry.state.configs


def test_nothing_is_deleted_where_all_is_read_only(registry):
    registry.run(registry.shard.change_mode(None, Mode.READONLY))
    assert registry.code_of(registry.shard.delete_subject("a")) == RegistryCode.OPERATION_NOT_PERMITTED
    assert registry.code_of(registry.shard.delete_version("a", 1)) == RegistryCode.OPERATION_NOT_PERMITTED


def test_an_empty_context_is_deleted(registry):
    registry.register(":.c:a", "x")
    assert registry.code_of(registry.shard.delete_context(".c")) == RegistryCode.CONTEXT_NOT_EMPTY
    registry.delete_for_good(":.c:a")
    registry.run(registry.shard.delete_context(".c"))
    assert lookups.context_names(registry.state) == ["."]
    assert registry.register(":.c:a", "y").id == 2
