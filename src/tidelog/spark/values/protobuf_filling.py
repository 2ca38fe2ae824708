"""A Protobuf message from a row: the way back from what protobuf_values.py makes of messages."""

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

TIMESTAMP = "google.protobuf.Timestamp"
WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
_WHOLE = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
)


def fill(message: Message, row: Mapping[str, Any]) -> None:
    """What is null stays unset. ValueError and TypeError for what does not fit."""
    for field in message.DESCRIPTOR.fields:
        value = row.get(field.name)
        if value is not None:
            _fill_field(message, field, value)


def _fill_field(message: Message, field: FieldDescriptor, value: Any) -> None:
    place = getattr(message, field.name)
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        inner = kind.fields_by_name["value"]
        for key, item in value:
            if inner.message_type is not None:
                _fill_message(place[key], item)
            else:
                place[key] = _scalar(inner, item)
    elif field.is_repeated and kind is not None:
        for item in value:
            _fill_message(place.add(), item)
    elif field.is_repeated:
        place.extend(_scalar(field, item) for item in value)
    elif kind is not None:
        place.SetInParent()
        _fill_message(place, value)
    else:
        setattr(message, field.name, _scalar(field, value))


def _fill_message(message: Any, value: Any) -> None:
    if value is None:
        raise ValueError(f"{message.DESCRIPTOR.name} within a list or map is null")
    name = message.DESCRIPTOR.full_name
    if name == TIMESTAMP:
        message.FromDatetime(value)
    elif name in WRAPPERS:
        message.value = _scalar(message.DESCRIPTOR.fields_by_name["value"], value)
    else:
        fill(message, value)


def _scalar(field: FieldDescriptor, value: Any) -> Any:
    if value is None:
        raise ValueError(f"a value of {field.name} is null, within a list or map")
    if field.enum_type is not None:
        known = field.enum_type.values_by_name
        if value in known:
            return known[value].number
        if str(value).lstrip("-").isdigit():  # a number without a name is read as its digits
            return int(value)
        raise ValueError(f"{value!r} is no {field.enum_type.name}; there are {', '.join(known)}")
    return int(value) if field.cpp_type in _WHOLE else value
