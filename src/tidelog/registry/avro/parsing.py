"""Avro schemas as the registry knows them: parsed, in canonical form, normalized, and compared.

No library of Avro reads them. What is stored has to be equal, byte by byte, with what Confluent's registry
stores for the same schema; fastavro forgets the order of attributes, knows no rules of compatibility, and
crashes the process where types are nested some ten thousand times.
"""

from typing import Literal

from tidelog.registry.avro import json_text
from tidelog.registry.avro.checks import check_repeated, check_unions
from tidelog.registry.avro.comparing import differences
from tidelog.registry.avro.defaults import check_defaults
from tidelog.registry.avro.normalizing import NormalWriter
from tidelog.registry.avro.reading import Reader
from tidelog.registry.avro.sentences import incompatibility
from tidelog.registry.avro.types import Field, Record, Type, full_name
from tidelog.registry.avro.writing import Writer
from tidelog.registry.parsed import Incompatibility, Policy, SchemaError
from tidelog.registry.schema import Dependencies, SchemaType


class AvroSchema:
    type: Literal[SchemaType.AVRO] = SchemaType.AVRO

    def __init__(
        self, root: Type, fields: list[Field], dependencies: Dependencies, known: frozenset[str]
    ) -> None:
        self.root = root
        self.fields = fields
        self._dependencies = dependencies
        self._known = known
        """The names that the references stand for: the canonical text does not define them."""
        self.text = _encodable(Writer(known).text(root))

    def normalized(self) -> "AvroSchema":
        return parse(NormalWriter(self._known).text(self.root), self._dependencies)

    def formatted(self, format: str) -> str:
        """`resolved` has the types of the references in it."""
        return Writer().text(self.root) if format == "resolved" else self.text

    def top_level_fields(self) -> frozenset[str]:
        return frozenset(self.root.by_name if isinstance(self.root, Record) else ())

    def incompatibilities(
        self, writer: "AvroSchema", policy: Policy = Policy.STRICT
    ) -> list[Incompatibility]:
        return [incompatibility(difference) for difference in differences(self.root, writer.root)]


def parse(text: str, dependencies: Dependencies = ()) -> AvroSchema:
    reader = Reader()
    known = frozenset(full_name(reader.read(json_text.load(dependency.text))) for dependency in dependencies)
    reader.unions.clear()
    reader.fields.clear()
    try:
        root = reader.read(json_text.load(text))
        check_unions(reader)
        check_repeated(reader)
        return AvroSchema(root, reader.fields, dependencies, known)
    except RecursionError:
        raise SchemaError(
            "The schema is nested too deeply. Split it into schemas that refer to each other."
        ) from None


def check_new(schema: AvroSchema) -> None:
    """A default has to be a value of its field's type. Registries took any, once."""
    check_defaults(schema.fields)


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError(
            "The schema has half a character in a text: a surrogate without its pair."
        ) from None
    return text
