"""The client's side of SASL against what a server would compute."""

import base64
import hashlib
import hmac

import pytest

from tidelog.blocking.errors import SecurityError
from tidelog.blocking.sasl import exchange, fetch_token, scram
from tidelog.blocking.security import Sasl
from tidelog.blocking.security_options import jaas_items

# The example of RFC 7677.
NONCE = "rOprNGfwEbeRWgbNEkqO"
FIRST = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0," + (
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_scram_as_the_standard_shows_it() -> None:
    steps = scram("SCRAM-SHA-256", "user", "pencil", NONCE)
    assert next(steps) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert steps.send(FIRST.encode()) == PROOF
    with pytest.raises(StopIteration):
        steps.send(FINAL)


@pytest.mark.parametrize(
    "challenge",
    [
        "r=else,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        f"r={NONCE}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1",
        "e=nobody",
        "r=",
        "",
    ],
)
def test_a_server_that_only_pretends_is_not_given_the_proof(challenge: str) -> None:
    steps = scram("SCRAM-SHA-256", "user", "pencil", NONCE)
    next(steps)
    with pytest.raises(SecurityError, match="SCRAM challenge"):
        steps.send(challenge.encode())


def test_a_server_that_does_not_know_the_password_is_not_believed() -> None:
    steps = scram("SCRAM-SHA-256", "user", "pencil", NONCE)
    next(steps)
    steps.send(FIRST.encode())
    with pytest.raises(SecurityError, match="did not prove that it knows the password"):
        steps.send(b"v=" + base64.b64encode(b"x" * 32))


def test_scram_with_the_longer_hash_and_a_name_with_commas() -> None:
    steps = scram("SCRAM-SHA-512", "a,b=c", "secret", "n")
    first = next(steps)
    assert first == b"n,,n=a=2Cb=3Dc,r=n"
    salt = b"salt"
    challenge = f"r=nserver,s={base64.b64encode(salt).decode()},i=4096"
    final = steps.send(challenge.encode()).decode()
    salted = hashlib.pbkdf2_hmac("sha512", b"secret", salt, 4096)
    message = f"{first[3:].decode()},{challenge},{final.rpartition(',p=')[0]}".encode()
    signature = hmac.digest(hmac.digest(salted, b"Server Key", "sha512"), message, "sha512")
    with pytest.raises(StopIteration):
        steps.send(b"v=" + base64.b64encode(signature))


def test_plain() -> None:
    steps = exchange(Sasl("PLAIN", "me", "secret"))
    assert next(steps) == b"\0me\0secret"
    with pytest.raises(StopIteration):
        steps.send(b"")


def test_a_token() -> None:
    steps = exchange(Sasl("OAUTHBEARER", token="abc", extensions=(("tenant", "x"),)))
    assert next(steps) == b"n,,\x01auth=Bearer abc\x01tenant=x\x01\x01"
    with pytest.raises(StopIteration):
        steps.send(b"")


def test_a_token_that_is_refused() -> None:
    steps = exchange(Sasl("OAUTHBEARER", token="abc"))
    next(steps)
    assert steps.send(b'{"status":"invalid_token"}') == b"\x01"
    with pytest.raises(SecurityError, match="invalid_token"):
        steps.send(b"")


def test_tokens_come_from_http_only() -> None:
    with pytest.raises(SecurityError, match="no http address"):
        fetch_token(Sasl("OAUTHBEARER", token_endpoint="file:///etc/passwd"))


def test_jaas() -> None:
    text = 'x.ScramLoginModule required username=me password="a b\\\\\\"" scope="s";'
    assert jaas_items(text) == {"username": "me", "password": 'a b\\"', "scope": "s"}
