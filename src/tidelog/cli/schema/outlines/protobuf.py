"""The outline of a Protobuf schema: fields of messages and values of enums, with their numbers."""

from typing import Any

from tidelog.cli.schema.outlines.outline import Outline
from tidelog.registry.schema import Dependencies

MAP_ENTRY = "map<{}, {}>"


def protobuf_outline(text: str, dependencies: Dependencies = ()) -> Outline:
    """Raises SchemaError, and ModuleNotFoundError where protobuf is not installed."""
    from google.protobuf import descriptor_pool

    from tidelog.blocking.registry.protobuf_codec import file_in

    return file_outline(file_in(descriptor_pool.DescriptorPool(), text, dependencies))


def file_outline(file: Any) -> Outline:
    """Of a FileDescriptorProto."""
    made: dict[str, dict[str, str]] = {
        "(schema)": {"syntax": file.syntax or "proto2", **({"package": file.package} if file.package else {})}
    }
    for message in file.message_type:
        _message(message, message.name, file.syntax, made)
    for enum in file.enum_type:
        _enum(enum, enum.name, made)
    for service in file.service:
        made[service.name] = {"type": "service"}
        for method in service.method:
            made[f"{service.name}.{method.name}"] = {
                "type": f"rpc ({_short(method.input_type)}) returns ({_short(method.output_type)})"
            }
    return made


def _message(message: Any, path: str, syntax: str, made: dict[str, dict[str, str]]) -> None:
    made[path] = {"type": "message"}
    if reserved := _reserved(message):
        made[path]["reserved"] = reserved
    entries = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    for field in sorted(message.field, key=lambda field: int(field.number)):
        made[f"{path}.{field.name}"] = _field(field, message, entries, syntax)
    for nested in message.nested_type:
        if nested.name not in entries:
            _message(nested, f"{path}.{nested.name}", syntax, made)
    for enum in message.enum_type:
        _enum(enum, f"{path}.{enum.name}", made)


def _field(field: Any, message: Any, entries: dict[str, Any], syntax: str) -> dict[str, str]:
    entry = entries.get(field.type_name.rpartition(".")[2]) if field.type_name else None
    if entry is not None and field.label == field.LABEL_REPEATED:
        shown = MAP_ENTRY.format(_type(entry.field[0]), _type(entry.field[1]))
    else:
        shown = _type(field)
        if field.label == field.LABEL_REPEATED:
            shown = f"repeated {shown}"
        elif field.label == field.LABEL_REQUIRED:
            shown = f"required {shown}"
        elif field.proto3_optional:
            shown = f"optional {shown}"
    made = {"type": shown, "number": str(field.number)}
    if field.HasField("oneof_index") and not field.proto3_optional:
        made["oneof"] = message.oneof_decl[field.oneof_index].name
    if field.HasField("default_value"):
        made["default"] = field.default_value
    if field.options.deprecated:
        made["deprecated"] = "yes"
    return made


def _type(field: Any) -> str:
    if field.type_name:
        return _short(field.type_name)
    return str(field.Type.Name(field.type)).removeprefix("TYPE_").lower()


def _short(name: str) -> str:
    return name.removeprefix(".")


def _enum(enum: Any, path: str, made: dict[str, dict[str, str]]) -> None:
    made[path] = {"type": "enum"}
    for value in enum.value:
        made[f"{path}.{value.name}"] = {"type": "value", "number": str(value.number)}


def _reserved(message: Any) -> str:
    ranges = [
        str(one.start) if one.end == one.start + 1 else f"{one.start} to {one.end - 1}"
        for one in message.reserved_range
    ]
    return ", ".join([*ranges, *message.reserved_name])
