"""Files that every schema may import without a reference: Google's well-known types and Confluent's own.

Google's `google/protobuf` comes with the Protobuf library. The others are small, and are written here.
"""

from functools import cache
from importlib import import_module

from tidelog.registry.protobuf.elements import File
from tidelog.registry.protobuf.names import Names
from tidelog.registry.protobuf.parser import parse_text

_OF_THE_LIBRARY = frozenset(
    [
        "any",
        "api",
        "descriptor",
        "duration",
        "empty",
        "field_mask",
        "source_context",
        "struct",
        "timestamp",
        "type",
        "wrappers",
    ]
)

_GOOGLE_TYPES = {
    "calendar_period": "enum CalendarPeriod { CALENDAR_PERIOD_UNSPECIFIED = 0; DAY = 1; WEEK = 2; "
    "FORTNIGHT = 3; MONTH = 4; QUARTER = 5; HALF = 6; YEAR = 7; }",
    "color": 'import "google/protobuf/wrappers.proto"; message Color { float red = 1; float green = 2; '
    "float blue = 3; google.protobuf.FloatValue alpha = 4; }",
    "date": "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "datetime": 'import "google/protobuf/duration.proto"; message DateTime { int32 year = 1; '
    "int32 month = 2; int32 day = 3; int32 hours = 4; int32 minutes = 5; int32 seconds = 6; "
    "int32 nanos = 7; oneof time_offset { google.protobuf.Duration utc_offset = 8; "
    "TimeZone time_zone = 9; } } message TimeZone { string id = 1; string version = 2; }",
    "dayofweek": "enum DayOfWeek { DAY_OF_WEEK_UNSPECIFIED = 0; MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3; "
    "THURSDAY = 4; FRIDAY = 5; SATURDAY = 6; SUNDAY = 7; }",
    "decimal": "message Decimal { string value = 1; }",
    "expr": "message Expr { string expression = 1; string title = 2; string description = 3; "
    "string location = 4; }",
    "fraction": "message Fraction { int64 numerator = 1; int64 denominator = 2; }",
    "interval": 'import "google/protobuf/timestamp.proto"; message Interval { '
    "google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }",
    "latlng": "message LatLng { double latitude = 1; double longitude = 2; }",
    "money": "message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }",
    "month": "enum Month { MONTH_UNSPECIFIED = 0; JANUARY = 1; FEBRUARY = 2; MARCH = 3; APRIL = 4; MAY = 5; "
    "JUNE = 6; JULY = 7; AUGUST = 8; SEPTEMBER = 9; OCTOBER = 10; NOVEMBER = 11; DECEMBER = 12; }",
    "phone_number": "message PhoneNumber { message ShortCode { string region_code = 1; string number = 2; } "
    "oneof kind { string e164_number = 1; ShortCode short_code = 2; } string extension = 3; }",
    "postal_address": "message PostalAddress { int32 revision = 1; string region_code = 2; "
    "string language_code = 3; string postal_code = 4; string sorting_code = 5; "
    "string administrative_area = 6; string locality = 7; string sublocality = 8; "
    "repeated string address_lines = 9; repeated string recipients = 10; string organization = 11; }",
    "quaternion": "message Quaternion { double x = 1; double y = 2; double z = 3; double w = 4; }",
    "timeofday": "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; "
    "int32 nanos = 4; }",
}

_EXTENDED = {
    "FileOptions": "file_meta",
    "MessageOptions": "message_meta",
    "FieldOptions": "field_meta",
    "EnumOptions": "enum_meta",
    "EnumValueOptions": "enum_value_meta",
}

_CONFLUENT = {
    "confluent/meta.proto": 'syntax = "proto3"; package confluent; '
    'import "google/protobuf/descriptor.proto"; '
    "message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; "
    "repeated Rule rules = 4; } "
    "message Rule { string name = 1; string doc = 2; string expr = 3; string sql = 4; } "
    + " ".join(
        f"extend google.protobuf.{options} {{ Meta {name} = 1088; }}" for options, name in _EXTENDED.items()
    ),
    "confluent/type/decimal.proto": 'syntax = "proto3"; package confluent.type; '
    "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }",
    "confluent/type/variant.proto": 'syntax = "proto3"; package confluent.type; '
    "message Variant { bytes metadata = 1; bytes value = 2; }",
}

PATHS = frozenset(
    [
        *(f"google/protobuf/{name}.proto" for name in _OF_THE_LIBRARY),
        *(f"google/type/{name}.proto" for name in _GOOGLE_TYPES),
        *_CONFLUENT,
    ]
)


def library_descriptor(path: str) -> bytes | None:
    """Returns the serialized descriptor of a file that comes with the Protobuf library."""
    name = path.removeprefix("google/protobuf/").removesuffix(".proto")
    if path not in PATHS or name not in _OF_THE_LIBRARY or not path.startswith("google/protobuf/"):
        return None
    descriptor: bytes = import_module(f"google.protobuf.{name}_pb2").DESCRIPTOR.serialized_pb
    return descriptor


@cache
def known_file(path: str) -> File | None:
    if path not in PATHS:
        return None
    if (descriptor := library_descriptor(path)) is not None:
        from tidelog.registry.protobuf.descriptor_reading import read_descriptor  # which needs the library

        return read_descriptor(descriptor)
    if path in _CONFLUENT:
        return parse_text(_CONFLUENT[path])
    name = path.removeprefix("google/type/").removesuffix(".proto")
    return parse_text(f'syntax = "proto3"; package google.type; {_GOOGLE_TYPES[name]}')


@cache
def known_names() -> Names:
    """Returns the names of all of them: Confluent finds these types even where an import was forgotten."""
    return Names((path, file) for path in sorted(PATHS) if (file := known_file(path)))
