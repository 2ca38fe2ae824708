"""A file without custom options and extensions: what `format=ignore_extensions` asks for."""

from collections.abc import Sequence

from tidelog.registry.protobuf.elements import Enum, Field, File, Group, Message, OneOf, Option

_CONFLUENT = "confluent."


def without_extensions(file: File) -> File:
    """Confluent's own options stay."""
    return file._replace(
        options=_plain(file.options),
        types=tuple(map(_type, file.types)),
        extends=(),
        services=tuple(
            service._replace(
                options=_plain(service.options),
                rpcs=tuple(rpc._replace(options=_plain(rpc.options)) for rpc in service.rpcs),
            )
            for service in file.services
        ),
    )


def _plain(options: Sequence[Option]) -> tuple[Option, ...]:
    return tuple(
        option
        for option in options
        if not option.parenthesized or option.name.lstrip(".").startswith(_CONFLUENT)
    )


def _type(kind: Message | Enum) -> Message | Enum:
    if isinstance(kind, Message):
        return _message(kind)
    constants = tuple(constant._replace(options=_plain(constant.options)) for constant in kind.constants)
    return kind._replace(options=_plain(kind.options), constants=constants)


def _message(message: Message) -> Message:
    return message._replace(
        options=_plain(message.options),
        fields=_fields(message.fields),
        oneofs=tuple(map(_oneof, message.oneofs)),
        groups=_groups(message.groups),
        types=tuple(map(_type, message.types)),
        extensions=(),
        extends=(),
    )


def _oneof(oneof: OneOf) -> OneOf:
    return oneof._replace(
        options=_plain(oneof.options), fields=_fields(oneof.fields), groups=_groups(oneof.groups)
    )


def _fields(fields: Sequence[Field]) -> tuple[Field, ...]:
    return tuple(field._replace(options=_plain(field.options)) for field in fields)


def _groups(groups: Sequence[Group]) -> tuple[Group, ...]:
    return tuple(
        group._replace(message=_message(group.message), options=_plain(group.options)) for group in groups
    )
