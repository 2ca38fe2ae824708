"""What changed in a message or an enum: members that came, went, or moved into and out of oneofs."""

from collections.abc import Iterator

from tidelog.registry.protobuf.comparing_fields import Member, Place
from tidelog.registry.protobuf.differences import Change, Difference
from tidelog.registry.protobuf.elements import Enum, Field, Group, Message, OneOf


def members_of(message: Message) -> dict[int, Member]:
    """Returns fields and groups by number, wherever they stand in the message."""
    members = {field.number: Member(field) for field in message.fields}
    members |= {group.number: _grouped(group, None) for group in message.groups}
    for oneof in message.oneofs:
        members |= {field.number: Member(field, oneof.name) for field in oneof.fields}
        members |= {group.number: _grouped(group, oneof.name) for group in oneof.groups}
    return members


def _grouped(group: Group, oneof: str | None) -> Member:
    name = group.message.name
    return Member(Field(group.label, name, name.lower(), group.number), oneof, group.message)


def message_changes(writer: Message, reader: Message, place: Place) -> Iterator[Difference]:
    """Yields members that came and went; members that stayed are for `field_changes`."""
    writers, readers = members_of(writer), members_of(reader)
    for oneof in reader.oneofs:
        yield from _joined_fields(oneof, writers, place.at(oneof.name))
    old_oneofs, new_oneofs = ({oneof.name for oneof in message.oneofs} for message in (writer, reader))
    for name in sorted(old_oneofs ^ new_oneofs):
        yield place.at(name).difference(Change.ONEOF_REMOVED if name in old_oneofs else Change.ONEOF_ADDED)
    survivors = {member.oneof for number, member in writers.items() if number in readers}
    for number in sorted(writers.keys() | readers.keys()):
        old, new = writers.get(number), readers.get(number)
        if old is not None and new is None:
            gone_as_a_whole = old.oneof not in survivors and old.oneof not in new_oneofs
            yield from _removed(old, place, gone_as_a_whole)
        elif old is None and new is not None:
            yield _added(new, place)
        elif old and new and old.oneof and not new.oneof:
            yield place.at(str(number)).difference(Change.ONEOF_FIELD_MOVED_TO_TOP_LEVEL)


def _joined_fields(oneof: OneOf, writers: dict[int, Member], place: Place) -> Iterator[Difference]:
    """Yields a change where fields that a writer sets together exclude each other for the reader.

    Fields that are new do not count, and those of one oneof excluded each other already.
    """
    numbers = [*(field.number for field in oneof.fields), *(group.number for group in oneof.groups)]
    known = [writers[number] for number in numbers if number in writers]
    alone = sum(member.oneof is None for member in known)
    origins = alone + len({member.oneof for member in known if member.oneof is not None})
    if origins > 1:
        several = alone > 1
        yield place.difference(
            Change.MULTIPLE_FIELDS_MOVED_TO_ONEOF if several else Change.FIELD_MOVED_TO_EXISTING_ONEOF
        )


def _removed(member: Member, place: Place, gone_as_a_whole: bool) -> Iterator[Difference]:
    number = str(member.field.number)
    if member.oneof is None:
        required = member.field.label == "required"
        yield place.at(number).difference(Change.REQUIRED_FIELD_REMOVED if required else Change.FIELD_REMOVED)
    elif not gone_as_a_whole:
        yield place.at(member.oneof, number).difference(Change.ONEOF_FIELD_REMOVED)


def _added(member: Member, place: Place) -> Difference:
    number = str(member.field.number)
    if member.oneof is not None:
        return place.at(member.oneof, number).difference(Change.ONEOF_FIELD_ADDED)
    required = member.field.label == "required"
    return place.at(number).difference(Change.REQUIRED_FIELD_ADDED if required else Change.FIELD_ADDED)


def enum_changes(writer: Enum, reader: Enum, place: Place) -> Iterator[Difference]:
    old, new = ({constant.number: constant.name for constant in enum.constants} for enum in (writer, reader))
    for number in sorted(old.keys() | new.keys()):
        at = place.at(str(number))
        if number not in new:
            yield at.difference(Change.ENUM_CONST_REMOVED)
        elif number not in old:
            yield at.difference(Change.ENUM_CONST_ADDED)
        elif old[number] != new[number]:
            yield at.difference(Change.ENUM_CONST_CHANGED)
