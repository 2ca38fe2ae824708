"""Descriptors are those of protoc: Google's own files are installed as texts and as compiled descriptors."""

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from tidelog.registry.protobuf.linking import Linked
from tidelog.registry.protobuf.parsing import check_new, parse
from tidelog.registry.protobuf.well_known import PATHS, known_file
from tidelog.registry.schema import Dependency

googleapis = pytest.importorskip("google.api.annotations_pb2", reason="googleapis-common-protos")
ROOT = Path(googleapis.__file__).parents[2]
FILES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "google").rglob("*.proto"))


@cache
def text_of(path: str) -> str:
    return (ROOT / path).read_text()


def dependencies_of(path: str) -> list[Dependency]:
    found: dict[str, Dependency] = {}

    def visit(text: str) -> None:
        for name in re.findall(r'^import (?:public )?"([^"]+)"', text, re.MULTILINE):
            if name not in found and name not in PATHS:
                visit(text_of(name))
                found[name] = Dependency(name, text_of(name))

    visit(text_of(path))
    return list(found.values())


def comparable(file: Any) -> str:
    """In one order, and without what a compiler may say or not: JSON names, names of files, empty options."""
    text = re.sub(r"^ *json_name: .*\n|\A *name: .*\n| *options \{\s*\}\n", "", str(file), flags=re.MULTILINE)
    return "\n".join(sorted(text.splitlines()))


def compiled(path: str) -> Any:
    module = import_module(path.removesuffix(".proto").replace("/", ".") + "_pb2")
    return descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)


@pytest.mark.parametrize("path", FILES)
def test_a_file_of_google(path: str) -> None:
    theirs = compiled(path)  # first: with it come the extensions that both are shown with
    dependencies = dependencies_of(path)
    schema = parse(text_of(path), dependencies)
    check_new(schema)
    assert comparable(schema.descriptors()[-1]) == comparable(theirs)
    assert parse(schema.text, dependencies).text == schema.text
    again = parse(schema.formatted("serialized"), dependencies)
    assert again.normalized().text == schema.normalized().text


CONFLUENT = {
    "confluent/meta.proto": "meta_pb2",
    "confluent/type/decimal.proto": "type.decimal_pb2",
    "confluent/type/variant.proto": "type.variant_pb2",
}


@pytest.mark.parametrize("path", sorted(PATHS))
def test_a_well_known_file_declares_what_its_owner_declares(path: str) -> None:
    known = known_file(path)
    assert known is not None
    ours = Linked(known._replace(options=()), {}).descriptors[-1]
    module = CONFLUENT.get(path)
    theirs = compiled(f"confluent_kafka/schema_registry/confluent/{module}"[:-4] if module else path)
    theirs.ClearField("options")
    assert comparable(ours) == comparable(theirs)
