"""The canonical text: what Java's Schema.toString gives for the same schema, byte by byte."""

import json

import pytest

from tidelog.registry.avro.parsing import parse
from tidelog.registry.schema import Dependency


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (' "string" ', '"string"'),
        ('{"type": "string"}', '"string"'),
        (
            '{"avro.java.string": "String", "type": "string"}',
            '{"type":"string","avro.java.string":"String"}',
        ),
        ('{"items": "int", "type": "array", "x": 1}', '{"type":"array","items":"int","x":1}'),
        ('{"default": {}, "values": "int", "type": "map"}', '{"type":"map","values":"int","default":{}}'),
        (
            '{"fields": [], "zz": null, "name": "n.s.R", "doc": "d", "aliases": ["Old", "o.Old"],'
            ' "type": "record", "aa": [1, {"b": 2, "a": 1}]}',
            '{"type":"record","name":"R","namespace":"n.s","doc":"d","fields":[],"zz":null,'
            '"aa":[1,{"b":2,"a":1}],"aliases":["Old","o.Old"]}',
        ),
        (
            '{"type": "record", "name": "R", "fields": [{"type": "int", "name": "a", "order": "IGNORE",'
            ' "logicalType": "date", "aliases": ["b", "b"], "default": 1, "doc": "d"}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"int","doc":"d","default":1,'
            '"order":"ignore","aliases":["b"],"logicalType":"date"}]}',
        ),
        (
            '{"type": "record", "name": "R", "fields": [{"order": "ascending", "name": "a", "type": "int"}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}',
        ),
        (
            '{"type": "enum", "default": "A", "symbols": ["A"], "name": "E", "p": 1, "doc": ""}',
            '{"type":"enum","name":"E","doc":"","symbols":["A"],"default":"A","p":1}',
        ),
        (
            '{"size": 4, "name": "F", "type": "fixed", "precision": 4, "logicalType": "decimal"}',
            '{"type":"fixed","name":"F","size":4,"precision":4,"logicalType":"decimal"}',
        ),
        ('{"type": "error", "name": "E", "fields": []}', '{"type":"error","name":"E","fields":[]}'),
        (
            r'{"type": "string", "x": "\u00e9 \u0001\u001f\u007f\n\t\" \\ \/"}',
            '{"type":"string","x":"é \\u0001\\u001F\x7f\\n\\t\\" \\\\ /"}',
        ),
        (
            '{"type": "string", "x": [0.001, 0.0001, 1e7, 9999999.5, -0.0, 100.0, 1e21, 123456789.125, 1.5]}',
            '{"type":"string","x":[0.001,1.0E-4,1.0E7,9999999.5,-0.0,100.0,1.0E21,1.23456789125E8,1.5]}',
        ),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "double", "default": "NaN"},'
            ' {"name": "b", "type": "float", "default": "-Infinity"},'
            ' {"name": "c", "type": "double", "default": "1.5"}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"double","default":"NaN"},'
            '{"name":"b","type":"float","default":"-Infinity"},{"name":"c","type":"double","default":1.5}]}',
        ),
    ],
)
def test_canonical_text(text, canonical):
    schema = parse(text)
    assert schema.text == canonical
    assert parse(canonical).text == canonical


def test_a_name_is_defined_at_its_first_use_and_short_within_its_namespace():
    text = json.dumps(
        {
            "type": "record",
            "name": "R",
            "namespace": "n",
            "fields": [
                {"name": "a", "type": "n.Later"},
                {"name": "b", "type": {"type": "fixed", "name": "Later", "size": 1}},
                {"name": "c", "type": {"type": "fixed", "name": "F", "namespace": "", "size": 2}},
                {"name": "d", "type": {"type": "array", "items": "n.R"}},
                {"name": "e", "type": "F"},
            ],
        }
    )
    assert parse(text).text == (
        '{"type":"record","name":"R","namespace":"n","fields":['
        '{"name":"a","type":{"type":"fixed","name":"Later","size":1}},{"name":"b","type":"Later"},'
        '{"name":"c","type":{"type":"fixed","name":"F","namespace":"","size":2}},'
        '{"name":"d","type":{"type":"array","items":"R"}},{"name":"e","type":"F"}]}'
    )


def test_references_stay_names_and_are_written_out_when_resolved():
    dependency = Dependency("n.A", '{"type": "enum", "name": "n.A", "symbols": ["X"]}')
    schema = parse('["null", "n.A"]', [dependency])
    assert schema.text == '["null","n.A"]'
    resolved = '["null",{"type":"enum","name":"A","namespace":"n","symbols":["X"]}]'
    assert schema.formatted("resolved") == resolved
    assert schema.formatted("") == schema.formatted("unheard-of") == schema.text


def test_a_type_inside_a_reference_is_written_where_it_is_used_first():
    dependency = Dependency(
        "A",
        '{"type":"record","name":"A","fields":[{"name":"i","type":{"type":"fixed","name":"I","size":1}}]}',
    )
    assert parse('["A","I"]', [dependency]).text == '["A",{"type":"fixed","name":"I","size":1}]'
