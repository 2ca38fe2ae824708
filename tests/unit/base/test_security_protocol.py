import pytest

from tidelog.base.security_protocol import SecurityProtocol, parse_protocol_map, protocols_of

PLAINTEXT, SSL, SASL_SSL = SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL, SecurityProtocol.SASL_SSL


def test_a_listener_named_as_a_protocol_speaks_it() -> None:
    assert protocols_of(["SSL", "PLAINTEXT"], []) == {"SSL": SSL, "PLAINTEXT": PLAINTEXT}


def test_the_map_decides() -> None:
    protocols = protocols_of(["CLIENTS", "SSL"], ["clients:sasl_ssl", "SSL:SASL_SSL", "OTHER:SSL"])
    assert protocols == {"CLIENTS": SASL_SSL, "SSL": SASL_SSL}


@pytest.mark.parametrize(
    "pair", ["SSL:PLAINTEXT", "SASL_SSL:SSL", "SASL_SSL:SASL_PLAINTEXT", "SSL:SASL_PLAINTEXT"]
)
def test_a_listener_does_not_promise_more_than_it_gives(pair: str) -> None:
    with pytest.raises(ValueError, match="give it another name"):
        parse_protocol_map([pair])


def test_other_names_are_plain_while_nothing_is_secured() -> None:
    assert protocols_of(["INTERNAL", "EXTERNAL"], []) == {"INTERNAL": PLAINTEXT, "EXTERNAL": PLAINTEXT}


@pytest.mark.parametrize("pairs", [[], ["SSL:SSL"]])
def test_a_forgotten_entry_opens_no_door(pairs: list[str]) -> None:
    with pytest.raises(ValueError, match="no protocol is given for the listener INTERNAL"):
        protocols_of(["SSL", "INTERNAL"], pairs)


@pytest.mark.parametrize("pairs", [["CLIENTS"], ["CLIENTS:TLS"], [":SSL"], ["A:SSL", "a:SSL"]])
def test_bad_entries(pairs: list[str]) -> None:
    with pytest.raises(ValueError, match=r"is not NAME:PROTOCOL|named twice"):
        parse_protocol_map(pairs)


def test_what_a_protocol_demands() -> None:
    assert [(each.is_tls, each.is_sasl) for each in SecurityProtocol] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]
