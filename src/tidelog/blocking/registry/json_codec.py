"""JSON values. A schema is checked where the package jsonschema is installed: before a value is written."""

import json
from typing import Any

from tidelog.blocking.registry.errors import UndecodableRecord, UnencodableValue
from tidelog.blocking.registry.framing import Framed
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Dependencies


class JsonCodec:
    def __init__(self, text: str, dependencies: Dependencies = ()) -> None:
        self._text, self._dependencies = text, dependencies
        self._validator: Any = None
        self._is_validator_made = False

    def decode(self, found: Framed) -> Any:
        try:
            return json.loads(found.data)
        except (ValueError, RecursionError) as error:
            raise UndecodableRecord(f"not JSON, as its schema says: {error}") from error

    def encode(self, value: Any) -> bytes:
        self._check(value)
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise UnencodableValue(f"the value is no JSON: {error}") from error

    def _check(self, value: Any) -> None:
        if not self._is_validator_made:
            self._is_validator_made = True
            self._validator = _validator(self._text, self._dependencies)
        if self._validator is None:
            return
        try:
            first = next(self._validator.iter_errors(value), None)
        except Exception as error:  # a reference that leads nowhere, a pattern that is none, too deep a value
            raise UnencodableValue(f"the JSON Schema cannot be applied: {error}") from error
        if first is not None:
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first.path)
            raise UnencodableValue(
                f"the value{f' at {place.lstrip(chr(46))}' if place else ''} does not fit the JSON Schema: "
                f"{first.message}"
            )


def _validator(text: str, dependencies: Dependencies) -> Any:
    """None where jsonschema is not installed."""
    try:
        import jsonschema
        import referencing
        from referencing.jsonschema import DRAFT7
    except ModuleNotFoundError:
        return None
    try:
        schema = json.loads(text)
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft7Validator)
        kind.check_schema(schema)
        resources = [
            (name, referencing.Resource.from_contents(json.loads(other), default_specification=DRAFT7))
            for name, other in dependencies
        ]
    except (ValueError, RecursionError, jsonschema.SchemaError) as error:
        raise SchemaError(f"The JSON Schema is not valid: {error}.") from error
    return kind(schema, registry=referencing.Registry().with_resources(resources))
