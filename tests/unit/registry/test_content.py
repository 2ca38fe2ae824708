"""Hashes of contents, as Confluent's registry computes them: its clients compare GUIDs."""

from hashlib import md5
from uuid import UUID

import pytest

from tidelog.registry.content import content_hash, content_of_guid, guid_of
from tidelog.registry.schema import Reference, Schema, SchemaType

TEXT = '{"type":"record","name":"myrecord","fields":[{"type":"string","default":null,"name":"f"}]}'


def avro(text=TEXT, **fields):
    return Schema(SchemaType.AVRO, text, **fields)


def test_a_guid_that_confluents_own_tests_pin():
    assert guid_of(content_hash(avro())) == "1d20cbb9-e5e3-5e97-54e7-da170b6e5ddb"


def test_references_metadata_and_rules_are_part_of_the_content():
    schema = avro(
        "x",
        references=(Reference("n", "s", 258),),
        metadata={"tags": {"b": ["z", "y"], "a": ["x"]}, "properties": {"p": "q"}, "sensitive": ["w", "v"]},
        rule_set={
            "domainRules": [
                {
                    "name": "check",
                    "kind": "CONDITION",
                    "mode": "WRITE",
                    "type": "CEL",
                    "tags": ["t2", "t1"],
                    "params": {"k2": "v2", "k1": "v1"},
                    "expr": "e",
                    "disabled": True,
                }
            ],
            "enableAt": "CLIENT",
        },
    )
    rule = b"check" + b"CONDITION" + b"WRITE" + b"CEL" + b"t1t2" + b"k1v1k2v2" + b"e" + b"\x01"
    whole = b"x" + b"ns\x00\x00\x01\x02" + b"\x01axbyzpqvw" + b"\x01" + rule + b"CLIENT"
    assert content_hash(schema) == md5(whole).digest()


def test_empty_metadata_and_rules_differ_from_none():
    contents = {
        content_hash(avro(**fields)) for fields in ({}, {"metadata": {}}, {"metadata": {}, "rule_set": {}})
    }
    assert len(contents) == 3


def test_sorted_maps_are_in_javas_order():
    # U+FF5E stands after the surrogates of U+1F600 in UTF-16, and before it by code points.
    schema = avro("x", metadata={"properties": {"\uff5e": "1", "\U0001f600": "2"}})
    assert content_hash(schema) == md5("x\x01\U0001f6002\uff5e1".encode()).digest()


def test_a_guid_is_read_back():
    content = content_hash(avro())
    assert content_of_guid(guid_of(content)) == content
    assert content_of_guid(UUID(bytes=content).hex) == content
    assert content_of_guid("no guid") is None


def test_a_text_that_is_no_unicode_has_no_content():
    with pytest.raises(UnicodeEncodeError):
        content_hash(avro("\ud800"))
