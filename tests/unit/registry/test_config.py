import pytest

from tidelog.registry.compatibility import Level
from tidelog.registry.config import changed, checked_changes, checks_of, fills_in
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.mode import Mode, checked_mode
from tidelog.registry.parsed import Policy


def test_settings_are_checked_and_unknown_ones_left_out():
    given = {"compatibility": "full", "normalize": True, "alias": None, "defaultMetadata": {}, "more": 1}
    assert checked_changes(given) == {
        "compatibilityLevel": "FULL",
        "normalize": True,
        "alias": None,
        "defaultMetadata": {},
    }


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"compatibility": "sideways"}, RegistryCode.INVALID_COMPATIBILITY_LEVEL),
        ({"compatibility": 3}, RegistryCode.INVALID_COMPATIBILITY_LEVEL),
        ({"normalize": "yes"}, RegistryCode.UNPROCESSABLE),
        ({"compatibilityPolicy": "LOGICAL"}, RegistryCode.UNPROCESSABLE),
        ({"compatibilityPolicy": 1}, RegistryCode.UNPROCESSABLE),
        ({"alias": 1}, RegistryCode.UNPROCESSABLE),
        ({"alias": "a" * 3000}, RegistryCode.UNPROCESSABLE),
        ({"overrideMetadata": []}, RegistryCode.UNPROCESSABLE),
        ({"defaultRuleSet": []}, RegistryCode.INVALID_RULE_SET),
    ],
)
def test_bad_settings(given, code):
    with pytest.raises(RegistryError) as refusal:
        checked_changes(given)
    assert refusal.value.code == code


def test_a_change_adds_and_removes_settings():
    assert changed({"alias": "a", "normalize": True}, {"alias": None, "compatibilityLevel": "FULL"}) == {
        "normalize": True,
        "compatibilityLevel": "FULL",
    }


def test_what_new_versions_are_checked_for():
    config = {"compatibilityLevel": "FULL", **checked_changes({"compatibilityPolicy": "lenient"})}
    assert checks_of(config) == (Level.FULL, Policy.LENIENT, False)
    stored_elsewhere = {
        "compatibilityLevel": "NONE",
        "compatibilityPolicy": "LOGICAL",
        "validateFields": True,
    }
    assert checks_of(stored_elsewhere) == (Level.NONE, Policy.STRICT, True)


def test_which_configurations_fill_in_metadata():
    assert fills_in({"overrideRuleSet": {}})
    assert not fills_in({"compatibilityLevel": "FULL", "defaultMetadata": None})


def test_modes():
    assert checked_mode("import") is Mode.IMPORT
    assert Mode.READONLY_OVERRIDE.is_read_only
    assert Mode.FORWARD.is_import
    with pytest.raises(RegistryError) as refusal:
        checked_mode(None)
    assert refusal.value.code == RegistryCode.INVALID_MODE
