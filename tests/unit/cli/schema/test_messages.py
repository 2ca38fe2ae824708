"""A registry's messages as sentences."""

from tidelog.cli.schema.messages import Fault, read_messages

AVRO = [
    "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'b' at path '/fields/1' in the "
    "new schema has no default value and is missing in the old schema', additionalInfo:'b'}",
    "{oldSchemaVersion: 3}",
    '{oldSchema: \'{"type":"record"}\'}',
    "{validateFields: 'false', compatibility: 'BACKWARD'}",
]


def test_avro_s_messages() -> None:
    found = read_messages(AVRO)
    assert found.version == 3
    [fault] = found.faults
    assert fault.rule == "READER_FIELD_MISSING_DEFAULT_VALUE"
    assert fault.text == (
        "The field 'b' at path '/fields/1' in the new schema has no default value and is missing in the old "
        "schema (READER_FIELD_MISSING_DEFAULT_VALUE; give the field a default)"
    )


def test_other_kinds_have_double_quotes_and_no_more_information() -> None:
    message = '{errorType:"FIELD_KIND_CHANGED", description:"The kind of a field at path \'#/1\' differs"}'
    [fault] = read_messages([message]).faults
    assert fault == Fault("The kind of a field at path '#/1' differs", "FIELD_KIND_CHANGED")


def test_names_beside_the_sentence_are_added() -> None:
    message = "{errorType:'MISSING_ENUM_SYMBOLS', description:'Symbols are missing', additionalInfo:'[A, B]'}"
    assert read_messages([message]).faults[0].sentence == "Symbols are missing: [A, B]"


def test_messages_of_another_shape_are_shown_as_they_are() -> None:
    assert read_messages(["Incompatible because of different schema type"]).faults == [
        Fault("Incompatible because of different schema type")
    ]
    assert read_messages(["x"]).faults[0].text == "x"
