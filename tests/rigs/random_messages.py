"""Random messages of any API and version, for fuzzing handlers and for comparing codecs.

Only what the version carries is set, so that a message comes back equal from a round trip.
"""

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

from tidelog.wire.codec import schema_of
from tidelog.wire.message import Message
from tidelog.wire.schema import Field

NumberChoice: TypeAlias = Callable[[Field, Random], int | float]

_RANGES = {
    "i8": (-(2**7), 2**7 - 1),
    "i16": (-(2**15), 2**15 - 1),
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "u16": (0, 2**16 - 1),
    "u32": (0, 2**32 - 1),
}


def any_number(field: Field, rng: Random) -> int | float:
    """From the whole range of the type, its ends more often than chance would give."""
    if field.type == "f64":
        return rng.choice((0.0, -1.5, rng.uniform(-1e9, 1e9)))
    low, high = _RANGES[field.type]
    return rng.choice((low, high, 0, 1, rng.randint(low, high)))


def random_message(
    cls: type[Message],
    version: int,
    rng: Random,
    *,
    number: NumberChoice = any_number,
    tags_below: int | None = None,
) -> Message:
    """`tags_below`: leaves fields with this tag or a higher one at their defaults, so off the wire."""
    schema, classes = schema_of(cls, version)
    return _Maker(version, rng, number, classes, tags_below).struct(cls, schema.fields)


class _Maker:
    def __init__(
        self,
        version: int,
        rng: Random,
        number: NumberChoice,
        classes: dict[str, Any],
        tags_below: int | None,
    ) -> None:
        self.version = version
        self.rng = rng
        self.number = number
        self.classes = classes
        self.tags_below = tags_below

    def struct(self, cls: type[Message], fields: tuple[Field, ...]) -> Message:
        present = (field for field in fields if field.versions.hold(self.version))
        return cls(**{field.name: self.value(field) for field in present if self.is_set(field)})

    def is_set(self, field: Field) -> bool:
        if field.tag is None:
            return True
        return (self.tags_below is None or field.tag < self.tags_below) and self.rng.random() < 0.5

    def value(self, field: Field) -> object:
        if field.nullable_in(self.version) and self.rng.random() < 0.25:
            return None
        if field.is_array:
            return [self.single(field) for _ in range(self.count(field))]
        made = self.single(field)
        if field.is_struct and field.tag is not None and made == type(made)():
            return None  # a tagged struct of defaults is not written
        return made

    def count(self, field: Field) -> int:
        if not field.is_struct and self.rng.random() < 0.05:
            return self.rng.randint(100, 200)
        return self.rng.choice((0, 1, 1, 2, 5))

    def single(self, field: Field) -> object:
        rng = self.rng
        if field.is_struct:
            return self.struct(self.classes[field.type], field.fields)
        if field.type == "str":
            length = rng.choice((0, 1, 6, 12, 60, 200)) if rng.random() < 0.2 else rng.randint(0, 12)
            return "".join(rng.choices("abcdefghij-_.0é€😀", k=length))
        if field.type == "bytes":
            return rng.randbytes(rng.choice((0, 1, 20, 300)))
        if field.type == "rec":
            return memoryview(rng.randbytes(rng.choice((0, 1, 100, 700, 20_000))))
        if field.type == "uuid":
            return rng.choice((bytes(16), rng.randbytes(16)))
        if field.type == "bool":
            return rng.random() < 0.5
        return self.number(field, rng)
