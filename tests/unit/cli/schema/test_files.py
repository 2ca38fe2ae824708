"""What a file holds, by its name and content, and references as people write them."""

from pathlib import Path

import click
import pytest

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.schema.files import WantedReference, expanded, guess, read_schema_file, reference_of
from tidelog.registry.schema import SchemaType


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.avsc", "{", SchemaType.AVRO),
        ("a.proto", "{", SchemaType.PROTOBUF),
        ("a.json", '{"type":"record","name":"A","fields":[]}', SchemaType.AVRO),
        ("a.json", '{"type":"array","items":"string"}', SchemaType.AVRO),
        ("a.json", '{"type":"array","items":{"type":"string"}}', SchemaType.JSON),
        ("a.json", '{"type":"object"}', SchemaType.JSON),
        ("a.json", '{"$schema":"http://json-schema.org/draft-07/schema#"}', SchemaType.JSON),
        ("a.json", "true", SchemaType.JSON),
        ("-", '"string"', SchemaType.AVRO),
        ("-", '["null","int"]', SchemaType.AVRO),
        ("-", 'syntax = "proto3";', SchemaType.PROTOBUF),
    ],
)
def test_the_kind_is_guessed(name: str, text: str, kind: SchemaType) -> None:
    assert guess(name, text) is kind


def test_a_json_file_must_hold_json() -> None:
    with pytest.raises(CliError, match="not JSON"):
        guess("a.json", "syntax")


def test_a_given_kind_counts_more(tmp_path: Path) -> None:
    (tmp_path / "a.avsc").write_text("{}")
    assert read_schema_file(str(tmp_path / "a.avsc"), "json").type is SchemaType.JSON
    with pytest.raises(CliError) as caught:
        read_schema_file(str(tmp_path / "none.avsc"))
    assert caught.value.code is Exit.NOT_FOUND
    (tmp_path / "b.avsc").write_bytes(b"\xff")
    with pytest.raises(CliError, match="not UTF-8"):
        read_schema_file(str(tmp_path / "b.avsc"))


def test_a_mark_in_front_is_no_part_of_a_schema(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"type":"object"}', encoding="utf-8-sig")
    read = read_schema_file(str(tmp_path / "a.json"))
    assert (read.type, read.text) == (SchemaType.JSON, '{"type":"object"}')


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("com.A=a:3", WantedReference("com.A", "a", 3)),
        ("a.proto=a", WantedReference("a.proto", "a", None)),
        ("a=:.ctx:a:latest", WantedReference("a", ":.ctx:a", None)),
        ("a=:.ctx:a", WantedReference("a", ":.ctx:a", None)),
    ],
)
def test_references(text: str, wanted: WantedReference) -> None:
    assert reference_of(text) == wanted


@pytest.mark.parametrize("text", ["", "a", "=a", "a=", "a=:3"])
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(click.BadParameter):
        reference_of(text)


def test_a_directory_stands_for_its_schemas(tmp_path: Path) -> None:
    for name in ("b/x.proto", "a.avsc", "readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert expanded([str(tmp_path), "other"]) == [
        str(tmp_path / "a.avsc"),
        str(tmp_path / "b" / "x.proto"),
        "other",
    ]
