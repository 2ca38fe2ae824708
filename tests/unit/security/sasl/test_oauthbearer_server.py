"""OAUTHBEARER on the broker's side: what clients send, and what must not get through."""

import pytest

from tidelog.security.jwt import Token, TokenRefused
from tidelog.security.sasl.conversation import AuthenticationFailed
from tidelog.security.sasl.oauthbearer_server import OauthBearerServer


def verify(token: str) -> Token:
    if token != "good":
        raise TokenRefused("expired")
    return Token("svc", frozenset(), 5000)


@pytest.mark.parametrize(
    "message",
    [
        b"n,,\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=bearer good\x01extra=x y\x01\x01",
        b"n,a=svc,\x01auth=Bearer good\x01\x01",
    ],
)
def test_a_token_that_is_good(message) -> None:
    server = OauthBearerServer(verify)
    assert server.respond(message) == b""
    assert str(server.result.principal) == "User:svc"
    assert server.result.expires_at_ms == 5000


def test_a_refusal_takes_two_steps() -> None:
    server = OauthBearerServer(verify)
    assert server.respond(b"n,,\x01auth=Bearer bad\x01\x01") == b'{"status":"invalid_token"}'
    assert server.result is None
    with pytest.raises(AuthenticationFailed, match="expired"):
        server.respond(b"\x01")
    with pytest.raises(AuthenticationFailed):
        server.respond(b"n,,\x01auth=Bearer good\x01\x01")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer good\x01",
        b"n,,\x01auth=Basic good\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Bearer good\x01auth=Bearer good\x01\x01",
        b"n,,\x01host=x\x01\x01",
        b"n,a=admin,\x01auth=Bearer good\x01\x01",
        b"y,,\x01auth=Bearer g\xff\x01\x01",
        b"n,,\x01auth=Bearer good\x01"
        + b"a=\x01" * 40_000
        + b"\x01",  # each costs time before anything is proved
        b"n,,\x01auth=Bearer good\x01=x\x01\x01",
        b"n,,\x01auth=Bearer good\x01\x01\x01",
        b"n,,\x01auth=Bearer good\x01a=\0\x01\x01",
        b"n,,auth=Bearer good\x01\x01",
        b"n,,\x01auth=Bearer " + b"x" * 200_000 + b"\x01\x01",
    ],
)
def test_messages_that_are_refused(message) -> None:
    server = OauthBearerServer(verify)
    with pytest.raises(AuthenticationFailed):
        server.respond(message)
    assert server.result is None
