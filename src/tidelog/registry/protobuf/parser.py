"""A `.proto` text becomes its elements: proto2, proto3 and editions, in one pass over the tokens.

Only the form is judged here; `descriptors.py` judges whether numbers and names fit together.
"""

import re

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.elements import Enum, Extend, File, Message, Option, Rpc, Service
from tidelog.registry.protobuf.option_parser import option_statement
from tidelog.registry.protobuf.reading import Reader
from tidelog.registry.protobuf.type_parser import TypeParser

TEXT_MAX = 1024 * 1024
"""Characters of one file: a second or two of work, and as much as a record of `_schemas` holds."""

_EDITION = re.compile(r"[0-9]{4}")


def parse_text(text: str) -> File:
    """Raises SchemaError with the line that is wrong."""
    if len(text) > TEXT_MAX:
        raise SchemaError(
            f"The schema has {len(text)} characters, and at most {TEXT_MAX} are read. Split it into files."
        )
    reader = Reader(text)
    syntax = _syntax(reader)
    types = TypeParser(reader, syntax)
    package: str | None = None
    imports: dict[str, list[str]] = {"": [], "public": [], "weak": []}
    options: list[Option] = []
    declared: list[Message | Enum] = []
    extends: list[Extend] = []
    services: list[Service] = []
    while word := reader.peek():
        if word == ";":
            reader.take()
        elif word == "package":
            if package is not None:
                reader.refuse("a file has one package")
            reader.take()
            package = reader.full_name()
            reader.expect(";")
        elif word == "import":
            reader.take()
            kind = reader.take().text if reader.peek() in ("public", "weak", "option") else ""
            imports["" if kind == "option" else kind].append(reader.path())
            reader.expect(";")
        elif word == "option":
            options.append(option_statement(reader))
        elif word == "extend":
            extends.append(types.extend())
        elif word == "service":
            services.append(_service(reader))
        elif types.looks_like_type():
            declared.append(types.type())
        else:
            reader.fail("expected message, enum, service, extend, import, package or option")
    return File(
        syntax,
        package,
        tuple(imports[""]),
        tuple(imports["public"]),
        tuple(imports["weak"]),
        tuple(options),
        tuple(declared),
        tuple(extends),
        tuple(services),
    )


def _syntax(reader: Reader) -> str | None:
    while reader.take_if(";"):
        pass
    word = reader.peek()
    if word not in ("syntax", "edition"):
        return None
    reader.take()
    reader.expect("=")
    value = reader.path()
    reader.expect(";")
    if word == "syntax" and value not in ("proto2", "proto3"):
        raise SchemaError(f"The syntax is 'proto2' or 'proto3', not {value!r}.")
    if word == "edition" and not _EDITION.fullmatch(value):
        raise SchemaError(f"An edition is a year like '2023', not {value!r}.")
    return value


def _service(reader: Reader) -> Service:
    reader.take()
    name = reader.name()
    reader.expect("{")
    rpcs: list[Rpc] = []
    options: list[Option] = []
    while not reader.take_if("}"):
        if reader.peek() == "option":
            options.append(option_statement(reader))
        elif reader.peek() == "rpc":
            rpcs.append(_rpc(reader))
        elif not reader.take_if(";"):
            reader.fail("expected rpc or option")
    return Service(name, tuple(rpcs), tuple(options))


def _rpc(reader: Reader) -> Rpc:
    reader.take()
    name = reader.name()
    request_streaming, request = _rpc_type(reader)
    reader.expect("returns")
    response_streaming, response = _rpc_type(reader)
    options: list[Option] = []
    if reader.take_if("{"):
        while not reader.take_if("}"):
            if reader.peek() == "option":
                options.append(option_statement(reader))
            else:
                reader.expect(";")
        reader.take_if(";")
    else:
        reader.expect(";")
    return Rpc(name, request, response, request_streaming, response_streaming, tuple(options))


def _rpc_type(reader: Reader) -> tuple[bool, str]:
    reader.expect("(")
    streaming = reader.peek() == "stream" and reader.peek(1) != ")" and reader.take_if("stream")
    name = reader.full_name()
    reader.expect(")")
    return streaming, name
