"""Names of certificates as principals: Kafka's own examples, and rules that cannot be read."""

import pytest

from tidelog.security.ssl_principal import (
    InvalidMappingRules,
    distinguished_name,
    parse_rules,
    principal_name,
)

SUBJECT = (
    (("countryName", "US"),),
    (("organizationName", "Example, Inc."),),
    (("commonName", "kafka.example.com"),),
)


def test_the_name_is_as_java_prints_it() -> None:
    assert distinguished_name(SUBJECT) == r"CN=kafka.example.com,O=Example\, Inc.,C=US"
    assert distinguished_name(((("commonName", "a"), ("userId", "b")),)) == "CN=a+UID=b"
    assert distinguished_name(((("commonName", " x "),),)) == r"CN=\ x\ "
    assert distinguished_name(()) == ""


@pytest.mark.parametrize(
    ("rules", "name", "principal"),
    [
        ("", "CN=a", "CN=a"),
        ("DEFAULT", "CN=a", "CN=a"),
        (r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT", "CN=svc,OU=ServiceUsers,O=x", "svc"),
        (r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT", "CN=svc,OU=Other", "CN=svc,OU=Other"),
        (r"RULE:^CN=(.*?),OU=(.*?),O=(.*?)$/$1@$2/L, DEFAULT", "CN=Duke,OU=JavaSoft,O=Sun", "duke@javasoft"),
        (r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "O=x,cn=abc", "ABC"),
        (r"RULE:CN=(a)(b)?/$1-$2/", "CN=a", "a-"),
        (r"RULE:CN=a\/b/ab/", "CN=a/b", "ab"),
        (r"RULE:^CN=(\w+)$/$1/", "O=none", None),
        (r"RULE:CN=/x/", "CN=longer", None),
    ],
)
def test_rules(rules, name, principal) -> None:
    assert principal_name(parse_rules(rules), name) == principal


@pytest.mark.parametrize(
    "rules", ["RULE:abc", "DEFAULT DEFAULT", "rule:a/b/", "RULE:(/x/", "RULE:a/$1/", "RULE:a/b/X"]
)
def test_rules_that_cannot_be_read(rules) -> None:
    with pytest.raises(InvalidMappingRules, match=r"ssl\.principal\.mapping\.rules"):
        parse_rules(rules)
