"""What changed from a writer's schema to a reader's: files, their messages and enums, and fields by number.

Protobuf's wire format knows numbers and not names, so a field is compared with the field of its number. Types
of other files are compared once each, from a list of work: chains and circles of types cost no recursion.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from tidelog.registry.protobuf.comparing_fields import Named, Place, field_changes
from tidelog.registry.protobuf.comparing_messages import enum_changes, members_of, message_changes
from tidelog.registry.protobuf.differences import Change, Difference
from tidelog.registry.protobuf.elements import Enum, File, Message
from tidelog.registry.protobuf.names import Names
from tidelog.registry.protobuf.scopes import scope_of

_Found = Difference | Named


def differences(writer: File, writer_names: Names, reader: File, reader_names: Names) -> list[Difference]:
    """Returns every change, also those that are compatible, in the order of the writer's declarations."""
    place = Place(writer_names, reader_names, scope_of(writer), scope_of(reader), ())
    found: dict[tuple[str, str], list[_Found]] = {("", ""): [*_files(writer, reader, place)]}
    waiting = deque([("", "")])
    while waiting:
        for item in found[waiting.popleft()]:
            if isinstance(item, Named) and item.pair not in found:
                found[item.pair] = [*_named_types(item, place)]
                waiting.append(item.pair)
    broken = _incompatible(found)
    return [
        Difference(Change.FIELD_NAMED_TYPE_CHANGED, item.steps) if isinstance(item, Named) else item
        for items in found.values()
        for item in items
        if not isinstance(item, Named) or item.pair in broken
    ]


def _incompatible(found: dict[tuple[str, str], list[_Found]]) -> set[tuple[str, str]]:
    """Returns the pairs of types that differ in a way that breaks readers, or have fields of such types."""
    users: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    broken: set[tuple[str, str]] = set()
    for pair, items in found.items():
        for item in items:
            if isinstance(item, Named):
                users[item.pair].append(pair)
            elif not item.is_compatible:
                broken.add(pair)
    waiting = list(broken)
    while waiting:
        for user in users[waiting.pop()]:
            if user not in broken:
                broken.add(user)
                waiting.append(user)
    return broken


def _files(writer: File, reader: File, place: Place) -> Iterator[_Found]:
    if (writer.package or "") != (reader.package or ""):
        yield place.difference(Change.PACKAGE_CHANGED)
    yield from _types(writer.types, reader.types, place)


def _named_types(named: Named, place: Place) -> Iterator[_Found]:
    """Compares two messages that fields refer to, each where it is declared."""
    writer, reader = (names.type(full) for names, full in zip(place.names, named.pair, strict=True))
    assert writer is not None
    assert reader is not None
    inside = Place(*place.names, writer.scope, reader.scope, named.local_name)
    if isinstance(writer.element, Message) and isinstance(reader.element, Message):
        yield from _message(writer.element, reader.element, inside)


def _types(
    writer: Sequence[Message | Enum], reader: Sequence[Message | Enum], place: Place
) -> Iterator[_Found]:
    writers, readers = _messages(writer), _messages(reader)
    for name in dict.fromkeys([*writers, *readers]):
        inside = place.inside(name)
        old, new = writers.get(name), readers.get(name)
        if old is None or new is None:
            kept = old or new
            if kept is not None and not kept[1].is_map_entry:
                yield inside.difference(Change.MESSAGE_REMOVED if new is None else Change.MESSAGE_ADDED)
            continue
        yield from _message(old[1], new[1], inside)
        if old[0] != new[0]:
            yield inside.difference(Change.MESSAGE_MOVED)
    enums, new_enums = _enums(writer), _enums(reader)
    for name in dict.fromkeys([*enums, *new_enums]):
        inside = place.inside(name)
        if name not in new_enums:
            yield inside.difference(Change.ENUM_REMOVED)
        elif name not in enums:
            yield inside.difference(Change.ENUM_ADDED)
        else:
            yield from enum_changes(enums[name], new_enums[name], inside)


def _messages(types: Sequence[Message | Enum]) -> dict[str, tuple[int, Message]]:
    """Returns messages by name, each with its place among them: the index that records name it by."""
    messages = [kind for kind in types if isinstance(kind, Message)]
    return {message.name: (index, message) for index, message in enumerate(messages)}


def _enums(types: Sequence[Message | Enum]) -> dict[str, Enum]:
    return {kind.name: kind for kind in types if isinstance(kind, Enum)}


def _message(writer: Message, reader: Message, place: Place) -> Iterator[_Found]:
    yield from message_changes(writer, reader, place)
    writers, readers = members_of(writer), members_of(reader)
    for number in sorted(writers.keys() & readers.keys()):
        old, new = writers[number], readers[number]
        at = place.at(new.oneof, str(number)) if new.oneof else place.at(str(number))
        yield from field_changes(old, new, at)
        if old.group is not None and new.group is not None and old.group.name == new.group.name:
            yield from _message(old.group, new.group, place.inside(new.group.name))
    yield from _types(writer.types, reader.types, place)
