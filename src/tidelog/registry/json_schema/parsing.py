"""A parsed JSON schema: its canonical text, and what it can read.

No library is needed: `jsonschema` takes 146 ms and 7 MB to import and up to 0.5 ms for each property, and
refuses schemas that Confluent's registry takes. The tests compare this package with it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from tidelog.registry.json_schema.checking import check
from tidelog.registry.json_schema.comparing.comparison import compare
from tidelog.registry.json_schema.comparing.differences import LENIENT, STRICT
from tidelog.registry.json_schema.comparing.findings import WORK_MAX, TooComplexError
from tidelog.registry.json_schema.json_text import Tree, ordered, read, write
from tidelog.registry.json_schema.library import Library
from tidelog.registry.json_schema.reading import Reader
from tidelog.registry.parsed import READER, WRITER, Incompatibility, Policy
from tidelog.registry.schema import Dependencies, SchemaType


@dataclass(frozen=True)
class JsonSchema:
    text: str
    _tree: Tree
    _dependencies: Dependencies

    @property
    def type(self) -> SchemaType:
        return SchemaType.JSON

    def normalized(self) -> Self:
        """The keys of every object are in order; nothing else is without meaning."""
        tree = ordered(self._tree)
        return type(self)(write(tree), tree, self._dependencies)

    def formatted(self, format: str) -> str:
        """There is one format."""
        return self.text

    def top_level_fields(self) -> frozenset[str]:
        properties = self._tree.get("properties") if isinstance(self._tree, dict) else None
        return frozenset(properties if isinstance(properties, dict) else ())

    def incompatibilities(
        self, writer: "JsonSchema", policy: Policy = Policy.STRICT
    ) -> list[Incompatibility]:
        tolerated = LENIENT if policy is Policy.LENIENT else STRICT
        try:
            outcome = compare(writer._reader.root(), self._reader.root(), tolerated)
        except TooComplexError:
            return [_TOO_COMPLEX]
        return [difference.described() for difference in outcome.incompatible()]

    @cached_property
    def _reader(self) -> Reader:
        return Reader(Library(self._tree, self._dependencies))


_TOO_COMPLEX = Incompatibility(
    "TOO_COMPLEX",
    f"The {READER} and the {WRITER} schema cannot be compared in {WORK_MAX} steps. "
    "Make oneOf, anyOf and allOf smaller, or set the compatibility of the subject to NONE",
)


def parse(text: str, dependencies: Dependencies = ()) -> JsonSchema:
    """Raises SchemaError where the text is no JSON schema, or refers to none of the dependencies."""
    tree = read(text)
    check(Library(tree, dependencies))
    return JsonSchema(write(tree), tree, tuple(dependencies))
