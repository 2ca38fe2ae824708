"""Configurations and modes, and which of them holds for a subject."""

import pytest

from tests.rigs.registry import Registry, schema
from tidelog.registry.errors import RegistryCode
from tidelog.registry.mode import Mode
from tidelog.registry.state import lookups


@pytest.fixture
def registry():
    return Registry()


def config(registry, scope):
    return lookups.config_in_scope(registry.state, scope)


def test_the_narrowest_configuration_holds(registry):
    change = registry.shard.change_config
    assert config(registry, "a") == {"compatibilityLevel": "BACKWARD"}
    registry.run(change(":.__GLOBAL:", {"compatibilityLevel": "NONE"}))
    assert config(registry, "a")["compatibilityLevel"] == "NONE"
    registry.run(change(None, {"compatibilityLevel": "FULL", "normalize": True}))
    registry.run(change(":.c:", {"compatibilityLevel": "FORWARD"}))
    registry.run(change("a", {"alias": "b"}))
    assert config(registry, "a") == {"compatibilityLevel": "FULL", "normalize": True, "alias": "b"}
    assert config(registry, ":.c:a") == {"compatibilityLevel": "FORWARD"}
    assert config(registry, ":.d:a") == {"compatibilityLevel": "NONE"}
    assert lookups.resolved_alias(registry.state, "a") == "b"
    assert lookups.resolved_alias(registry.state, "b") == "b"


def test_a_change_keeps_the_other_settings(registry):
    registry.run(registry.shard.change_config("a", {"compatibilityLevel": "FULL", "alias": "b"}))
    after = registry.run(registry.shard.change_config("a", {"alias": None, "normalize": False}))
    assert after == {"compatibilityLevel": "FULL", "normalize": False}


def test_a_configuration_is_deleted(registry):
    registry.run(registry.shard.change_config("a", {"compatibilityLevel": "FULL"}))
    assert registry.run(registry.shard.delete_config("a")) == {"compatibilityLevel": "FULL"}
    assert registry.run(registry.shard.delete_config("a")) is None
    assert config(registry, "a")["compatibilityLevel"] == "BACKWARD"
    assert len(registry.log.records) == 2


def test_a_read_only_registry_keeps_its_configuration(registry):
    registry.run(registry.shard.change_mode(None, Mode.READONLY))
    assert registry.code_of(registry.shard.change_config("a", {})) == RegistryCode.OPERATION_NOT_PERMITTED
    assert registry.code_of(registry.shard.delete_config("a")) == RegistryCode.OPERATION_NOT_PERMITTED
    registry.run(registry.shard.change_mode(None, Mode.READWRITE))
    registry.run(registry.shard.change_config("a", {}))


def test_an_import_begins_where_nothing_is(registry):
    registry.register("a", "x")
    registry.register("b", "y")
    change = registry.shard.change_mode
    assert registry.code_of(change(None, Mode.IMPORT)) == RegistryCode.OPERATION_NOT_PERMITTED
    assert registry.code_of(change("a", Mode.IMPORT)) == RegistryCode.OPERATION_NOT_PERMITTED
    assert registry.code_of(change(":.c:", Mode.IMPORT)) is None
    registry.run(registry.shard.delete_subject("a"))
    registry.run(change("a", Mode.IMPORT))
    assert list(registry.state.subjects) == ["b"]
    registry.run(change(None, Mode.IMPORT, force=True))
    assert list(registry.state.subjects) == ["b"]


def test_an_import_forgets_nothing_that_is_referred_to(registry):
    registry.register("a", "x")
    registry.register("b", schema("y", ("n", "a", 1)))
    registry.run(registry.shard.delete_subject("b"))
    registry.run(registry.shard.delete_subject("a"))
    assert registry.code_of(registry.shard.change_mode("a", Mode.IMPORT)) == RegistryCode.REFERENCE_EXISTS
    registry.run(registry.shard.change_mode("b", Mode.IMPORT))


def test_the_narrowest_mode_holds(registry):
    registry.run(registry.shard.change_mode(None, Mode.READONLY))
    registry.run(registry.shard.change_mode("a", Mode.READWRITE))
    registry.run(registry.shard.change_mode(":.c:", Mode.IMPORT))

    def modes():
        return [lookups.mode_in_scope(registry.state, scope) for scope in ("a", "b", ":.c:a", ":.d:a")]

    assert modes() == [Mode.READWRITE, Mode.READONLY, Mode.IMPORT, Mode.READWRITE]
    assert registry.run(registry.shard.delete_mode("a")) is Mode.READWRITE
    assert registry.run(registry.shard.delete_mode("a")) is None
    assert modes() == [Mode.READONLY, Mode.READONLY, Mode.IMPORT, Mode.READWRITE]


def test_the_modes_of_a_context_are_deleted_with_its_own(registry):
    for scope in (":.c:", ":.c:a", ":.d:a", "b"):
        registry.run(registry.shard.change_mode(scope, Mode.READONLY))
    registry.run(registry.shard.delete_mode(":.c:", recursive=True))
    assert set(registry.state.modes) == {":.d:a", "b"}
    registry.run(registry.shard.delete_mode(None, recursive=True))
    assert set(registry.state.modes) == {":.d:a"}


def test_a_setting_that_is_no_unicode(registry):
    assert (
        registry.code_of(registry.shard.change_config("a", {"alias": "\ud800"})) == RegistryCode.UNPROCESSABLE
    )
