"""What a registry says of incompatible schemas, as sentences: each with its rule, and what would help.

Registries answer with a list of texts, `{errorType:'…', description:'…', additionalInfo:'…'}` and further
facts; texts of another shape are shown as they are.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

_FAULT = re.compile(
    r"""\{errorType:(?P<a>['"])(?P<rule>\w+)(?P=a),\s*description:(?P<b>['"])(?P<text>.*?)(?P=b)"""
    r"""(?:,\s*additionalInfo:(?P<c>['"])(?P<info>.*)(?P=c))?\}""",
    re.DOTALL,
)
_VERSION = re.compile(r"\{oldSchemaVersion:\s*(\d+)\}")
_OTHER_FACT = re.compile(r"\{(oldSchema|validateFields|compatibility):", re.DOTALL)

ADVICE = {
    "READER_FIELD_MISSING_DEFAULT_VALUE": "give the field a default",
    "MISSING_ENUM_SYMBOLS": "keep the symbols, or give the enum a default",
    "MISSING_UNION_BRANCH": "keep the branch of the union",
    "TYPE_MISMATCH": "keep the type, or add a field of another name",
    "NAME_MISMATCH": "keep the name, or add the old one to `aliases`",
    "FIXED_SIZE_MISMATCH": "keep the size",
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": "do not require the property, or give it a default",
    "REQUIRED_ATTRIBUTE_ADDED": "do not require the property, or give it a default",
    **dict.fromkeys(
        (
            "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",  # of older registries
            "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        ),
        'set "additionalProperties": false, or a level that allows it',
    ),
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL": "keep the property",
    "FIELD_SCALAR_KIND_CHANGED": "keep the type, or use a new number",
    "FIELD_KIND_CHANGED": "keep the type, or use a new number",
    "FIELD_NAMED_TYPE_CHANGED": "keep the type, or use a new number",
    "MESSAGE_REMOVED": "keep the message",
    "REQUIRED_FIELD_ADDED": "make the field optional",
    "REQUIRED_FIELD_REMOVED": "keep the field",
}


class Fault(NamedTuple):
    sentence: str
    rule: str | None = None
    """The registry's name of the rule that it breaks."""

    @property
    def text(self) -> str:
        if self.rule is None:
            return self.sentence
        advice = ADVICE.get(self.rule)
        return f"{self.sentence} ({self.rule}{f'; {advice}' if advice else ''})"


class Faults(NamedTuple):
    faults: list[Fault]
    version: int | None
    """The earlier version that the new schema does not go with."""


def read_messages(messages: Iterable[str]) -> Faults:
    faults, version = [], None
    for message in messages:
        if found := _FAULT.fullmatch(message.strip()):
            faults.append(Fault(_sentence(found["text"], found["info"]), found["rule"]))
        elif number := _VERSION.fullmatch(message.strip()):
            version = int(number[1])
        elif not _OTHER_FACT.match(message.strip()):
            faults.append(Fault(message.strip()))
    return Faults(faults, version)


def _sentence(text: str, info: str | None) -> str:
    """Avro's name of the field or symbols is beside the sentence, unless it holds it already."""
    said = text.strip().rstrip(".")
    return said if not info or info in said else f"{said}: {info}"
