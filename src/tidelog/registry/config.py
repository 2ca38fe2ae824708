"""Configurations of everything, of a context or of a subject: which settings exist, and how they add up.

A configuration is JSON in Confluent's shape. A setting that it does not have comes from the next wider scope.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from tidelog.registry.compatibility import Checks, Level
from tidelog.registry.content import content_hash
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.metadata import sent_metadata
from tidelog.registry.parsed import Policy
from tidelog.registry.rule_sets import sent_rule_set
from tidelog.registry.schema import Schema, SchemaType
from tidelog.registry.subjects import SUBJECT_CHARS_MAX

Config: TypeAlias = Mapping[str, Any]

LEVEL = "compatibilityLevel"
NORMALIZE = "normalize"
VALIDATE_NEW = "validateNewSchemas"
ALIAS = "alias"
GROUP = "compatibilityGroup"
POLICY = "compatibilityPolicy"
VALIDATE_FIELDS = "validateFields"
DEFAULT_METADATA = "defaultMetadata"
OVERRIDE_METADATA = "overrideMetadata"
DEFAULT_RULE_SET = "defaultRuleSet"
OVERRIDE_RULE_SET = "overrideRuleSet"

_FLAGS = {NORMALIZE, VALIDATE_NEW, VALIDATE_FIELDS, "validateRules"}
_TEXTS = {ALIAS, "aliasForDeks", GROUP}
_FILLING = (DEFAULT_METADATA, OVERRIDE_METADATA, DEFAULT_RULE_SET, OVERRIDE_RULE_SET)


def checked_changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a request that exist, each checked; None removes one. RegistryError: a bad
    value."""
    changes: dict[str, Any] = {}
    for name, value in given.items():
        setting = LEVEL if name == "compatibility" else name
        if value is None:
            changes[setting] = None
        elif setting == LEVEL:
            changes[setting] = str(checked_level(value))
        elif setting == POLICY:
            changes[setting] = str(_policy(value))
        elif setting in _FLAGS:
            changes[setting] = _flag(setting, value)
        elif setting in _TEXTS:
            changes[setting] = _text(setting, value)
        elif setting in (DEFAULT_METADATA, OVERRIDE_METADATA):
            changes[setting] = sent_metadata(value)
        elif setting in (DEFAULT_RULE_SET, OVERRIDE_RULE_SET):
            changes[setting] = sent_rule_set(value)
    return {name: value for name, value in changes.items() if name in SETTINGS}


SETTINGS = {LEVEL, POLICY, *_FLAGS, *_TEXTS, *_FILLING}


def changed(config: Config, changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**config, **changes}.items() if value is not None}


def readable(stored: Config) -> dict[str, Any]:
    """Returns a configuration that any registry stored. Raises ValueError, TypeError, AttributeError or
    KeyError where a decision could not use it."""
    found = dict(stored)
    if LEVEL in found:
        found[LEVEL] = str(Level(str(found[LEVEL]).upper()))
    for name in _TEXTS & found.keys():
        if not isinstance(found[name], str):
            raise TypeError(f"'{name}' is no text")
    for metadata, rule_set in ((DEFAULT_METADATA, DEFAULT_RULE_SET), (OVERRIDE_METADATA, OVERRIDE_RULE_SET)):
        content_hash(Schema(SchemaType.AVRO, "", (), found.get(metadata), found.get(rule_set)))
    return found


def checks_of(config: Config) -> Checks:
    is_lenient = config.get(POLICY) == Policy.LENIENT  # another registry may have stored any text
    return Checks(
        Level(config[LEVEL]),
        Policy.LENIENT if is_lenient else Policy.STRICT,
        config.get(VALIDATE_FIELDS) is True,
    )


def validates_new(config: Config) -> bool:
    """Whether a new schema has to hold to all rules of today, such as defaults that are values of their
    types."""
    return config.get(VALIDATE_NEW) is not False


def fills_in(config: Config) -> bool:
    """Whether it gives metadata or rules to schemas that are registered."""
    return any(config.get(name) is not None for name in _FILLING)


def checked_level(given: object) -> Level:
    try:
        return Level(str(given).upper())
    except ValueError:
        raise RegistryError(
            RegistryCode.INVALID_COMPATIBILITY_LEVEL,
            "Invalid compatibility level. Valid values are none, backward, forward, full, "
            "backward_transitive, "
            "forward_transitive, and full_transitive",
        ) from None


def _policy(given: object) -> Policy:
    try:
        return Policy(str(given).upper())
    except ValueError:
        raise RegistryError(
            RegistryCode.UNPROCESSABLE,
            f"The setting '{POLICY}' is STRICT or LENIENT; there is no other policy in this registry.",
        ) from None


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise RegistryError(RegistryCode.UNPROCESSABLE, f"The setting '{name}' is true or false.")
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > SUBJECT_CHARS_MAX:
        raise RegistryError(
            RegistryCode.UNPROCESSABLE,
            f"The setting '{name}' is a text of at most {SUBJECT_CHARS_MAX} characters.",
        )
    return value
