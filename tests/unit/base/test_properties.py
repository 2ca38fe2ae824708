"""Properties files as Java reads them."""

import pytest

from tidelog.base.properties import InvalidProperties, parse_properties


def test_names_and_values() -> None:
    text = """\
# a comment
! another

bootstrap.servers=a:9092,b:9092
  sasl.mechanism : SCRAM-SHA-512
client.id  tools
empty=
sasl.jaas.config=org.apache.Module required \\
    username="ann" \\
    password="a=b\\\\c";
path=C\\:\\\\keys\\u0041
name\\ with\\=signs=x
"""
    assert parse_properties(text) == {
        "bootstrap.servers": "a:9092,b:9092",
        "sasl.mechanism": "SCRAM-SHA-512",
        "client.id": "tools",
        "empty": "",
        "sasl.jaas.config": 'org.apache.Module required username="ann" password="a=b\\c";',
        "path": "C:\\keysA",
        "name with=signs": "x",
    }


def test_a_line_that_is_no_property_is_named_by_its_number_alone() -> None:
    with pytest.raises(InvalidProperties) as refusal:
        parse_properties("a=1\nhunter2\n")
    assert refusal.value.line == 2
    assert "hunter2" not in str(refusal.value)
