"""A text of a client becomes a Protobuf schema: a `.proto` file, or the base64 of its serialized descriptor.

Java clients and people send the first, clients in Python, Go and C# the second; dependencies come in either
form. What is stored is always the canonical `.proto` text.
"""

import base64
import binascii
from collections.abc import Mapping

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.descriptor_options import OptionsReader
from tidelog.registry.protobuf.descriptor_reading import read_descriptor
from tidelog.registry.protobuf.elements import File
from tidelog.registry.protobuf.linking import extension_pool
from tidelog.registry.protobuf.parser import TEXT_MAX, parse_text
from tidelog.registry.protobuf.printing import print_file
from tidelog.registry.protobuf.protobuf_schema import ProtobufSchema
from tidelog.registry.schema import Dependencies


def parse(text: str, dependencies: Dependencies = ()) -> ProtobufSchema:
    """Raises SchemaError where the text, with its dependencies, is no Protobuf file."""
    files: dict[str, File] = {}
    for name, dependency in dependencies:
        try:
            files[name] = _file(dependency, files)
        except SchemaError as error:
            raise SchemaError(f"The reference '{name}' is no Protobuf schema. {error}") from None
    file = _file(text, files)
    if not (file.types or file.extends or file.services or file.every_import):
        raise SchemaError("The schema declares nothing. Declare a message: message Name { ... }.")
    schema = ProtobufSchema(file, files)
    schema.check_length()
    return schema


def check_new(schema: ProtobufSchema) -> None:
    """Raises SchemaError for what a compiler refuses though its form is right: other registries took it."""
    schema.check()


def _file(text: str, dependencies: Mapping[str, File]) -> File:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError("The schema has half a surrogate pair, which is no text in UTF-8.") from None
    serialized = _base64(text)
    if serialized is None:
        return parse_text(text)
    file = read_descriptor(serialized, OptionsReader(lambda: extension_pool(serialized, dependencies)))
    printed = print_file(file)
    again = parse_text(printed)
    if print_file(again) != printed:
        raise SchemaError("The descriptor has a name that is no name in a .proto file.")
    return again


def _base64(text: str) -> bytes | None:
    """Returns the bytes of a text that is base64. Every `.proto` text has a character that base64 has not."""
    stripped = text.strip()
    if not stripped or len(stripped) > 2 * TEXT_MAX:
        return None
    try:
        return base64.b64decode(stripped, validate=True)
    except (binascii.Error, ValueError):
        return None
