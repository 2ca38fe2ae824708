"""Messages and enums of a `.proto` text, with all that may stand in them."""

from tidelog.registry.protobuf.elements import (
    ENUM_NUMBER_MAX,
    NUMBER_MAX,
    SCALARS,
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    Group,
    Message,
    OneOf,
    Option,
    Range,
    Reserved,
)
from tidelog.registry.protobuf.option_parser import bracketed_options, option_statement
from tidelog.registry.protobuf.reading import Reader
from tidelog.registry.protobuf.tokens import TokenKind

_LABELS = ("optional", "required", "repeated")
_KEY_TYPES = SCALARS - {"double", "float", "bytes"}


class TypeParser:
    def __init__(self, reader: Reader, syntax: str | None) -> None:
        self._reader = reader
        self._proto2 = syntax in (None, "proto2")
        self._proto3 = syntax == "proto3"

    def looks_like_type(self) -> bool:
        word = self._reader.peek(1) if self._reader.peek() in ("export", "local") else self._reader.peek()
        return word in ("message", "enum")

    def type(self) -> Message | Enum:
        reader = self._reader
        visibility = reader.take().text if reader.peek() in ("export", "local") else None
        if reader.take().text == "message":
            return self._message_body(reader.name())._replace(visibility=visibility)
        return self._enum(reader.name())._replace(visibility=visibility)

    def extend(self) -> Extend:
        reader = self._reader
        reader.expect("extend")
        name = reader.full_name()
        members = self._members()
        return Extend(name, *members)

    def _message_body(self, name: str) -> Message:
        reader = self._reader
        reader.enter()
        reader.expect("{")
        fields: list[Field] = []
        groups: list[Group] = []
        oneofs: list[OneOf] = []
        types: list[Message | Enum] = []
        options: list[Option] = []
        reserved: list[Reserved] = []
        extensions: list[Extensions] = []
        extends: list[Extend] = []
        while not reader.take_if("}"):
            word = reader.peek()
            if word == ";":
                reader.take()
            elif word == "option":
                options.append(option_statement(reader))
            elif word == "oneof":
                oneofs.append(self._oneof())
            elif word == "reserved":
                reserved.append(self._reserved(NUMBER_MAX, 1))
            elif word == "extensions":
                extensions.append(self._extensions())
            elif word == "extend":
                extends.append(self.extend())
            elif self.looks_like_type():
                types.append(self.type())
            else:
                self._member(fields, groups, in_oneof=False)
        reader.leave()
        return Message(
            name,
            tuple(fields),
            tuple(oneofs),
            tuple(groups),
            tuple(types),
            tuple(options),
            tuple(reserved),
            tuple(extensions),
            tuple(extends),
        )

    def _members(self) -> tuple[tuple[Field, ...], tuple[Group, ...]]:
        """Reads the fields of an `extend`."""
        fields: list[Field] = []
        groups: list[Group] = []
        self._reader.expect("{")
        while not self._reader.take_if("}"):
            if not self._reader.take_if(";"):
                self._member(fields, groups, in_oneof=False)
        return tuple(fields), tuple(groups)

    def _member(self, fields: list[Field], groups: list[Group], in_oneof: bool) -> None:
        """Reads a field or a group."""
        reader = self._reader
        label = None
        if reader.peek() in _LABELS:
            if in_oneof:
                reader.refuse("a field of a oneof has no label")
            if reader.peek() == "required" and self._proto3:
                reader.refuse("proto3 has no required fields")
            label = reader.take().text
        if reader.peek() == "map" and reader.peek(1) == "<":
            if label or in_oneof:
                reader.refuse("a map has no label and stands outside oneofs")
            type_name = self._map_type()
        elif label is None and self._proto2 and not in_oneof:
            reader.fail(
                "a field of proto2 begins with a label (or begin the file with 'syntax = \"proto3\";')"
            )
        elif reader.peek() == "group" and reader.peek(2) == "=":
            groups.append(self._group(label))
            return
        else:
            type_name = reader.full_name()
        name = reader.name()
        reader.expect("=")
        number = reader.integer(1, NUMBER_MAX)
        options = bracketed_options(reader)
        reader.expect(";")
        fields.append(Field(label, type_name, name, number, options))

    def _map_type(self) -> str:
        reader = self._reader
        reader.take()
        reader.take()
        key = reader.name()
        if key not in _KEY_TYPES:
            reader.refuse(f"the keys of a map are strings, bools or integers, not {key}")
        reader.expect(",")
        value = reader.full_name()
        reader.expect(">")
        return f"map<{key}, {value}>"

    def _group(self, label: str | None) -> Group:
        reader = self._reader
        if not self._proto2:
            reader.refuse("only proto2 has groups: declare a message and a field of its type")
        reader.take()
        name = reader.name()
        reader.expect("=")
        number = reader.integer(1, NUMBER_MAX)
        options = bracketed_options(reader)
        return Group(label, number, self._message_body(name), options)

    def _oneof(self) -> OneOf:
        reader = self._reader
        reader.take()
        name = reader.name()
        reader.expect("{")
        fields: list[Field] = []
        groups: list[Group] = []
        options: list[Option] = []
        while not reader.take_if("}"):
            if reader.peek() == "option":
                options.append(option_statement(reader))
            elif not reader.take_if(";"):
                self._member(fields, groups, in_oneof=True)
        return OneOf(name, tuple(fields), tuple(groups), tuple(options))

    def _extensions(self) -> Extensions:
        reader = self._reader
        reader.take()
        values = [self._range(NUMBER_MAX, 1)]
        while reader.take_if(","):
            values.append(self._range(NUMBER_MAX, 1))
        options = bracketed_options(reader)
        reader.expect(";")
        return Extensions(tuple(values), options)

    def _reserved(self, number_max: int, number_min: int) -> Reserved:
        reader = self._reader
        reader.take()
        values: list[str | int | Range] = []
        while True:
            if reader.peek_kind() is TokenKind.STRING:
                values.append(reader.path())
            elif reader.peek_kind() is TokenKind.NAME:
                values.append(reader.name())
            else:
                values.append(self._range(number_max, number_min))
            if not reader.take_if(","):
                break
        reader.expect(";")
        return tuple(values)

    def _range(self, number_max: int, number_min: int) -> int | Range:
        reader = self._reader
        first = reader.integer(number_min, number_max)
        if not reader.take_if("to"):
            return first
        last = number_max if reader.take_if("max") else reader.integer(first, number_max)
        return Range(first, last)

    def _enum(self, name: str) -> Enum:
        reader = self._reader
        reader.expect("{")
        constants: list[Constant] = []
        options: list[Option] = []
        reserved: list[Reserved] = []
        while not reader.take_if("}"):
            word = reader.peek()
            if word == ";":
                reader.take()
            elif word == "option" and reader.peek(1) != "=":
                options.append(option_statement(reader))
            elif word == "reserved" and reader.peek(1) != "=":
                reserved.append(self._reserved(ENUM_NUMBER_MAX, -ENUM_NUMBER_MAX - 1))
            else:
                constant = reader.name()
                reader.expect("=")
                number = reader.integer(-ENUM_NUMBER_MAX - 1, ENUM_NUMBER_MAX)
                constants.append(Constant(constant, number, bracketed_options(reader)))
                reader.expect(";")
        return Enum(name, tuple(constants), tuple(options), tuple(reserved))
