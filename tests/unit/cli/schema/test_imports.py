"""Which files a schema refers to, and in which order they are registered."""

import pytest

from tidelog.cli.exits import CliError
from tidelog.cli.schema.files import SchemaFile
from tidelog.cli.schema.imports import needed_files, references_in
from tidelog.registry.schema import SchemaType


def proto(name: str, *imports: str) -> SchemaFile:
    lines = "".join(f'import "{one}";\n' for one in imports)
    return SchemaFile(name, SchemaType.PROTOBUF, f'syntax = "proto3";\n{lines}')


def test_imports_of_protobuf_without_comments_and_google_s_own() -> None:
    text = """
    // import "no.proto";
    /* import "neither.proto"; */
    import public "a.proto";
    import 'b/c.proto';
    import "google/protobuf/any.proto";
    """
    assert references_in(SchemaFile("x", SchemaType.PROTOBUF, text)) == ["a.proto", "b/c.proto"]


def test_names_of_avro_in_their_namespace() -> None:
    text = """{"type":"record","name":"A","namespace":"x","fields":[
        {"name":"own","type":["null","A"]},
        {"name":"near","type":{"type":"array","items":"Near"}},
        {"name":"far","type":{"type":"map","values":"y.Far"}},
        {"name":"inner","type":{"type":"enum","name":"z.E","symbols":["A"]}},
        {"name":"again","type":"z.E"},
        {"name":"plain","type":{"type":"string"}}]}"""
    assert references_in(SchemaFile("x", SchemaType.AVRO, text)) == ["x.Near", "y.Far"]


def test_refs_of_json_schema_without_fragments() -> None:
    text = '{"a":{"$ref":"#/definitions/x"},"b":[{"$ref":"other.json#/definitions/y"},{"$ref":"other.json"}]}'
    assert references_in(SchemaFile("x", SchemaType.JSON, text)) == ["other.json"]


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_a_broken_text_refers_to_nothing(kind: SchemaType) -> None:
    assert references_in(SchemaFile("x", kind, "{")) == []
    assert references_in(SchemaFile("x", kind, "[" * 100_000)) == []


def test_files_come_behind_those_that_they_refer_to() -> None:
    main = proto("main.proto", "b.proto", "a.proto")
    others = [proto("dir/a.proto"), proto("dir/b.proto", "a.proto"), proto("dir/unused.proto")]
    needed, own = needed_files(main, others)
    assert [(one.name, one.needs) for one in needed] == [("a.proto", ()), ("b.proto", ("a.proto",))]
    assert own == ["b.proto", "a.proto"]


def test_known_references_and_missing_files_are_left_out() -> None:
    needed, own = needed_files(proto("m", "a.proto", "gone.proto"), [proto("a.proto")], known=["a.proto"])
    assert (needed, own) == ([], [])


def test_a_part_of_a_name_is_another_name() -> None:
    needed, _ = needed_files(proto("m", "a.proto"), [proto("data.proto")])
    assert needed == []


def test_avro_files_are_found_by_what_they_define_and_json_by_id() -> None:
    far = SchemaFile("f.avsc", SchemaType.AVRO, '{"type":"enum","name":"Far","namespace":"y","symbols":[]}')
    main = SchemaFile("m", SchemaType.AVRO, '{"type":"array","items":"y.Far"}')
    assert [one.name for one in needed_files(main, [far])[0]] == ["y.Far"]
    other = SchemaFile("o.json", SchemaType.JSON, '{"$id":"http://x/o"}')
    referring = SchemaFile("m", SchemaType.JSON, '{"$ref":"http://x/o#"}')
    assert [one.name for one in needed_files(referring, [other])[0]] == ["http://x/o"]


def test_circles_are_refused() -> None:
    files = [proto("a.proto", "b.proto"), proto("b.proto", "a.proto")]
    with pytest.raises(CliError, match=r"a\.proto -> b\.proto -> a\.proto"):
        needed_files(proto("m", "a.proto"), files)
