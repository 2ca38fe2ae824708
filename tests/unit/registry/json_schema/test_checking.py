"""Chains of references: each ends soon, and costs its length once."""

import json
from typing import Any
from unittest.mock import patch

import pytest

from tidelog.registry.json_schema.checking import CHAIN_MAX
from tidelog.registry.json_schema.library import Library
from tidelog.registry.json_schema.parsing import parse
from tidelog.registry.json_schema.shapes import Referring
from tidelog.registry.parsed import SchemaError


def chain(references: int, last: Any, heads: int = 1) -> str:
    """So many references one after the other, and properties that refer to the first."""
    line = {f"d{number}": {"$ref": f"#/definitions/d{number + 1}"} for number in range(references)}
    properties = {f"p{number}": {"$ref": "#/definitions/d0"} for number in range(heads)}
    return json.dumps({"definitions": {**line, f"d{references}": last}, "properties": properties})


@pytest.mark.parametrize("heads", [0, 1, 10])
def test_a_chain_is_of_bounded_length(heads: int) -> None:
    longest = CHAIN_MAX - 1 - bool(heads)
    parse(chain(longest, {}, heads))
    with pytest.raises(SchemaError, match=f"more than {CHAIN_MAX} others"):
        parse(chain(longest + 1, {}, heads))


def test_a_chain_is_followed_once_however_many_references_lead_to_it() -> None:
    asked = 0
    resolve = Library.resolve

    def counting(self: Library, *reference: Any) -> Any:
        nonlocal asked
        asked += 1
        return resolve(self, *reference)

    with patch.object(Library, "resolve", counting):
        parse(chain(98, {"type": "string"}, 1000))
    assert asked < 4000


def test_a_comparison_follows_a_chain_once() -> None:
    before, after = (parse(chain(98, {"type": of}, 1000)) for of in ("string", "number"))
    asked = 0
    for reader in (before._reader, after._reader):
        target = reader.target

        def counting(reference: str, document: Any, target: Any = target) -> Any:
            part = target(reference, document)

            def counted() -> Any:
                nonlocal asked
                asked += 1
                return part()

            return counted

        reader.target = counting  # type: ignore[method-assign]
    assert after.incompatibilities(before)
    assert isinstance(after._reader.root().properties["p0"](), Referring)  # type: ignore[attr-defined]
    assert asked < 4000


def test_a_default_at_the_end_of_a_chain_is_found() -> None:
    optional = json.loads(chain(98, {"type": "string", "default": ""}, 1000))
    required = {**optional, "required": list(optional["properties"])}
    before, after = parse(json.dumps(optional)), parse(json.dumps(required))
    assert after.incompatibilities(before) == []
