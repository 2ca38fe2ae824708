"""Elements become text: the canonical string that Confluent's registry stores, with its order and its layout.

Imports come before options, options before types, messages before enums, then extends, and services at the
end; sections are parted by a blank line, and inner lines indented. It parses to the same elements again.
"""

from collections.abc import Iterable, Sequence

from tidelog.registry.protobuf.elements import (
    NUMBER_MAX,
    Enum,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Message,
    OneOf,
    Range,
    Reserved,
    Rpc,
    Service,
)
from tidelog.registry.protobuf.printing_options import bracketed, indented, quoted, statement


def print_file(file: File) -> str:
    lines: list[str] = []
    if file.syntax is not None:
        lines.append(f"{'edition' if file.is_edition else 'syntax'} = {quoted(file.syntax)};")
    if file.package is not None:
        lines.append(f"package {file.package};")
    printer = _Printer(file.is_edition)
    imports = [f"import {quoted(path)};" for path in file.imports]
    imports += [f"import public {quoted(path)};" for path in file.public_imports]
    imports += [f"import weak {quoted(path)};" for path in file.weak_imports]
    for section in (
        imports,
        _joined(statement(option) for option in file.options),
        printer.types(file.types),
        _joined(printer.extend(extend) for extend in file.extends),
        _joined(_service(service) for service in file.services),
    ):
        if section:
            lines += ["", *section]
    return "\n".join([*lines, ""])


class _Printer:
    def __init__(self, is_edition: bool) -> None:
        self._is_edition = is_edition

    def types(self, types: Sequence[Message | Enum]) -> list[str]:
        messages = (self._message(kind) for kind in types if isinstance(kind, Message))
        return _joined(messages) + _joined(self._enum(kind) for kind in types if isinstance(kind, Enum))

    def extend(self, extend: Extend) -> list[str]:
        fields = _joined(_field(field) for field in extend.fields)
        return _block(f"extend {extend.name}", fields, self._groups(extend.groups))

    def _message(self, message: Message) -> list[str]:
        return self._body(f"{_visible(message.visibility)}message {message.name}", message)

    def _body(self, head: str, message: Message) -> list[str]:
        return _block(
            head,
            [self._reserved(values) for values in message.reserved],
            _joined(statement(option) for option in message.options),
            _joined(_field(field) for field in message.fields),
            _joined(self._oneof(oneof) for oneof in message.oneofs),
            self._groups(message.groups),
            _joined(_extensions(extensions) for extensions in message.extensions),
            _joined(self.extend(extend) for extend in message.extends),
            self.types(message.types),
        )

    def _oneof(self, oneof: OneOf) -> list[str]:
        return _block(
            f"oneof {oneof.name}",
            _joined(statement(option) for option in oneof.options),
            _joined(_field(field) for field in oneof.fields),
            self._groups(oneof.groups),
        )

    def _groups(self, groups: Sequence[Group]) -> list[str]:
        return _joined(self._group(group) for group in groups)

    def _group(self, group: Group) -> list[str]:
        label = f"{group.label} " if group.label else ""
        lines = _glued([f"{label}group {group.message.name} = {group.number}"], bracketed(group.options))
        return [*lines[:-1], *self._body(lines[-1], group.message)]

    def _enum(self, enum: Enum) -> list[str]:
        body = [self._reserved(values) for values in enum.reserved]
        body += _joined(statement(option) for option in enum.options)
        for constant in enum.constants:
            body += _glued([f"{constant.name} = {constant.number}"], bracketed(constant.options), ";")
        return _block(f"{_visible(enum.visibility)}enum {enum.name}", body)

    def _reserved(self, values: Reserved) -> str:
        return f"reserved {', '.join(self._reserved_value(value) for value in values)};"

    def _reserved_value(self, value: str | int | Range) -> str:
        if isinstance(value, str):
            return value if self._is_edition else quoted(value)
        return _numbers(value)


def _visible(visibility: str | None) -> str:
    return f"{visibility} " if visibility else ""


def _field(field: Field) -> list[str]:
    label = f"{field.label} " if field.label else ""
    return _glued([f"{label}{field.type} {field.name} = {field.number}"], bracketed(field.options), ";")


def _extensions(extensions: Extensions) -> list[str]:
    numbers = ", ".join(_numbers(value) for value in extensions.values)
    return _glued([f"extensions {numbers}"], bracketed(extensions.options), ";")


def _numbers(value: int | Range) -> str:
    if isinstance(value, int):
        return str(value)
    return f"{value.first} to {value.last if value.last < NUMBER_MAX else 'max'}"


def _service(service: Service) -> list[str]:
    options = _joined(statement(option) for option in service.options)
    return _block(f"service {service.name}", options, _joined(_rpc(rpc) for rpc in service.rpcs))


def _rpc(rpc: Rpc) -> list[str]:
    request = f"{'stream ' if rpc.request_streaming else ''}{rpc.request}"
    response = f"{'stream ' if rpc.response_streaming else ''}{rpc.response}"
    head = f"rpc {rpc.name} ({request}) returns ({response})"
    if not rpc.options:
        return [head + ";"]
    return [head + " {", *indented(_joined(statement(option) for option in rpc.options)), "};"]


def _block(head: str, *sections: list[str]) -> list[str]:
    lines: list[str] = []
    for section in sections:
        if section:
            lines += [*([""] if lines else []), *indented(section)]
    return [head + " {", *lines, "}"] if lines else [head + " {}"]


def _joined(parts: Iterable[list[str]]) -> list[str]:
    return [line for part in parts for line in part]


def _glued(first: list[str], second: list[str], end: str = "") -> list[str]:
    """Returns the lines of both, the first of `second` on the last line of `first`."""
    lines = [*first[:-1], first[-1] + second[0], *second[1:]]
    lines[-1] += end
    return lines
