"""Numbers and names that a message reserves stay unused, and so do those that Protobuf keeps for itself.

Protobuf's library in Python does not look; every compiler refuses such a file.
"""

from bisect import bisect_right
from collections.abc import Sequence

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.elements import Enum, File, Message, Range, Reserved
from tidelog.registry.protobuf.names import groups_of

_OF_PROTOBUF = range(19_000, 20_000)


def check_reserved(file: File) -> None:
    """Raises SchemaError for a field or a constant with a number or a name that is reserved."""
    waiting: list[Message | Enum] = list(file.types)
    while waiting:
        kind = waiting.pop()
        reserved = _Reserved(kind.reserved)
        if isinstance(kind, Enum):
            for constant in kind.constants:
                reserved.check(kind.name, constant.name, constant.number)
            continue
        waiting += [*kind.types, *(group.message for group in groups_of(kind))]
        for field in (*kind.fields, *(field for oneof in kind.oneofs for field in oneof.fields)):
            reserved.check(kind.name, field.name, field.number)
            if field.number in _OF_PROTOBUF:
                raise SchemaError(
                    f"The field '{field.name}' of {kind.name} has the number {field.number}: Protobuf keeps "
                    "19000 to 19999 for itself. Choose another number."
                )


class _Reserved:
    def __init__(self, statements: Sequence[Reserved]) -> None:
        values = [value for statement in statements for value in statement]
        self._names = {value for value in values if isinstance(value, str)}
        ranges = sorted(_range(value) for value in values if not isinstance(value, str))
        self._firsts = [first for first, _ in ranges]
        self._lasts: list[int] = []  # the largest up to here, so that ranges may overlap
        for _, last in ranges:
            self._lasts.append(max(last, self._lasts[-1] if self._lasts else last))

    def check(self, where: str, name: str, number: int) -> None:
        if name in self._names:
            raise SchemaError(f"{where} reserves the name '{name}' and uses it. Choose another name.")
        at = bisect_right(self._firsts, number) - 1
        if at >= 0 and number <= self._lasts[at]:
            raise SchemaError(
                f"{where} reserves the number {number} and uses it for '{name}'. Choose another."
            )


def _range(value: int | Range) -> tuple[int, int]:
    return (value.first, value.last) if isinstance(value, Range) else (value, value)
