"""Can a reader read what a writer wrote? The rules of Java's `SchemaCompatibility`, with its kinds and paths.

Types that refer to each other can be deep without a bound, so the comparison does not call itself: each step
is a generator that yields the pairs it needs to know, and `run` keeps them on a stack of its own.
"""

from collections.abc import Generator
from typing import NamedTuple, TypeAlias

from tidelog.registry.avro.limits import DIFFERENCES_MAX, MESSAGE_CHARS_MAX, PATH_STEPS_MAX, Steps
from tidelog.registry.avro.names import shown
from tidelog.registry.avro.types import (
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    NamedType,
    Record,
    Type,
    Union,
    reads_name,
)

_PROMOTED = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}

_Path: TypeAlias = tuple["_Path", str] | None
"""The last step, and the path before it: paths share their beginnings."""


class Difference(NamedTuple):
    kind: str
    message: str
    steps: _Path

    @property
    def path(self) -> str:
        """As a JSON pointer, of which a very long one has its end alone."""
        names: list[str] = []
        steps = self.steps
        while steps is not None and len(names) < PATH_STEPS_MAX:
            steps, name = steps
            names.append(name)
        return ("/" if steps is None else "/.../") + "/".join(reversed(names))


class _Pair(NamedTuple):
    """A question: what hinders the reader at this path?"""

    reader: Type
    writer: Type
    path: _Path


_Found: TypeAlias = list[Difference]
_Step: TypeAlias = Generator[_Pair, _Found, _Found]
_Key: TypeAlias = tuple[int, int]
"""The identities of a reader and a writer."""


def differences(reader: Type, writer: Type) -> list[Difference]:
    """Returns what hinders the reader. Raises SchemaError where the types are too many to compare."""
    return _Comparison().run(_Pair(reader, writer, None))


class _Comparison:
    def __init__(self) -> None:
        self._known: dict[_Key, _Found] = {}
        self._steps = Steps("The comparison of both schemas")

    def run(self, first: _Pair) -> _Found:
        stack: list[tuple[_Key, _Step]] = []
        answer = self._ask(first, stack)
        while stack:
            key, step = stack[-1]
            try:
                answer = self._ask(next(step) if answer is None else step.send(answer), stack)
            except StopIteration as end:
                stack.pop()
                answer = self._known[key] = end.value
        return answer or []

    def _ask(self, pair: _Pair, stack: "list[tuple[_Key, _Step]]") -> _Found | None:
        """Returns what is known of a pair; None: it has been put on the stack."""
        self._steps.take()
        key = (id(pair.reader), id(pair.writer))
        if (known := self._known.get(key)) is not None:
            return known
        self._known[key] = []  # a record that contains itself is readable where the rest of it is
        stack.append((key, self._compare(pair)))
        return None

    def _compare(self, pair: _Pair) -> _Step:
        reader, writer, path = pair
        match reader, writer:
            case Array(), Array():
                return (yield from self._inside(_Pair(reader.items, writer.items, (path, "items"))))
            case Map(), Map():
                return (yield from self._inside(_Pair(reader.values, writer.values, (path, "values"))))
            case Fixed(), Fixed():
                return [*_names(reader, writer, path), *_sizes(reader, writer, path)]
            case Enum(), Enum():
                self._steps.take(len(reader.symbols) + len(writer.symbols))
                return [*_names(reader, writer, path), *_symbols(reader, writer, path)]
            case Record(), Record():
                return [*_names(reader, writer, path), *(yield from self._fields(reader, writer, path))]
            case Union(), Union():
                return (yield from self._branches(reader, writer, path))
            case _, Union():
                return (yield from self._every_branch(reader, writer, path))
            case Union(), _:
                return (yield from self._some_branch(reader, writer, path))
            case _:
                return _plain(reader, writer, path)

    def _inside(self, pair: _Pair) -> _Step:
        """Plain types need no place on the stack, and are not remembered: they stand in many places."""
        if isinstance(pair.reader, Union | Array | Map | NamedType) or isinstance(pair.writer, Union):
            return (yield pair)
        self._steps.take()
        return _plain(*pair)

    def _fields(self, reader: Record, writer: Record, path: _Path) -> _Step:
        found: _Found = []
        for index, field in enumerate(reader.fields):
            self._steps.take(len(field.aliases))
            here: _Path = (path, f"fields/{index}")
            matching = _written(field, writer)
            if len(matching) > 1:
                found.append(_ambiguous(field, writer, here))
            elif matching:
                pair = _Pair(field.type, matching[0].type, (here, "type"))
                _add(found, (yield from self._inside(pair)))
            elif field.has_default:
                continue
            elif isinstance(field.type, Enum) and field.type.default is not None:
                # Java compares the enum with the record: the default of an enum is none of a field.
                _add(found, _plain(field.type, writer, (here, "type")))
            else:
                name = shown(field.name, MESSAGE_CHARS_MAX)
                found.append(Difference("READER_FIELD_MISSING_DEFAULT_VALUE", name, here))
        return found

    def _branches(self, reader: Union, writer: Union, path: _Path) -> _Step:
        """Names the branches of the writer that are not readable, not why they are not."""
        found = []
        for index, branch in enumerate(writer.branches):
            if (yield _Pair(reader, branch, None)):
                found.append(_lacking(branch, (path, str(index))))
        return found

    def _every_branch(self, reader: Type, writer: Union, path: _Path) -> _Step:
        found: _Found = []
        for index, branch in enumerate(writer.branches):
            _add(found, (yield from self._inside(_Pair(reader, branch, (path, str(index))))))
        return found

    def _some_branch(self, reader: Union, writer: Type, path: _Path) -> _Step:
        for branch in reader.candidates(writer):
            if not (yield from self._inside(_Pair(branch, writer, None))):
                return []
        return [_lacking(writer, path)]


def _add(found: _Found, more: _Found) -> None:
    """Records that are used in many places would double the list with each level."""
    found += more[: max(0, DIFFERENCES_MAX - len(found))]


def _plain(reader: Type, writer: Type, path: _Path) -> _Found:
    if reader.kind == writer.kind or writer.kind in _PROMOTED.get(reader.kind, ()):
        return []
    message = f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}"
    return [Difference("TYPE_MISMATCH", message, path)]


def _lacking(writer: Type, path: _Path) -> Difference:
    message = f"reader union lacking writer type: {writer.kind.upper()}"
    return Difference("MISSING_UNION_BRANCH", message, path)


def _written(field: Field, writer: Record) -> list[Field]:
    names = (field.name, *(alias for alias in field.aliases if alias != field.name))
    return [writer.by_name[name] for name in names if name in writer.by_name]


def _ambiguous(field: Field, writer: Record, path: _Path) -> Difference:
    """Java gives up on the whole comparison here, with this message."""
    name = shown(field.name, MESSAGE_CHARS_MAX)
    message = f"Reader record field {name} matches multiple fields in writer record schema"
    return Difference("READER_FIELD_AMBIGUOUS", f"{message} {writer.name.full}", path)


def _symbols(reader: Enum, writer: Enum, path: _Path) -> _Found:
    missing = sorted(set(writer.symbols).difference(reader.symbols))
    if not missing or reader.default is not None:
        return []
    names = shown(", ".join(missing), MESSAGE_CHARS_MAX)
    return [Difference("MISSING_ENUM_SYMBOLS", f"[{names}]", (path, "symbols"))]


def _sizes(reader: Fixed, writer: Fixed, path: _Path) -> _Found:
    if reader.size == writer.size:
        return []
    message = f"expected: {writer.size}, found: {reader.size}"
    return [Difference("FIXED_SIZE_MISMATCH", message, (path, "size"))]


def _names(reader: NamedType, writer: NamedType, path: _Path) -> _Found:
    if reads_name(reader, writer):
        return []
    return [Difference("NAME_MISMATCH", f"expected: {writer.name.full}", (path, "name"))]
