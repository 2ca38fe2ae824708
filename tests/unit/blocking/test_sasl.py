"""The client's side of SASL against what a server would compute."""

import base64
import hashlib
import hmac
from http.client import HTTPMessage
from io import BytesIO
from urllib.request import HTTPRedirectHandler

import pytest

from tidelog.blocking.errors import SecurityError
from tidelog.blocking.sasl import exchange, fetch_token, scram, token_request
from tidelog.blocking.security import Sasl
from tidelog.blocking.security_options import security_of

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


SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize("module", [f"{SCRAM} required", f"kafkashaded.{SCRAM} required"])
@pytest.mark.parametrize("end", [";", ""])
def test_jaas(module: str, end: str) -> None:
    text = f'{module} username=me password="a b\\\\\\""{end}'
    options = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-256"}
    sasl = security_of({**options, "sasl.jaas.config": text}).sasl
    assert sasl == Sasl("SCRAM-SHA-256", "me", 'a b\\"')


def test_jaas_that_is_not_understood_shows_no_secret() -> None:
    options = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    text = 'com.example.LoginModule required password="hunter2";'
    with pytest.raises(SecurityError, match=r"kafka\.sasl\.jaas\.config names com.example") as refusal:
        security_of({**options, "sasl.jaas.config": text}, "kafka.")
    assert "hunter2" not in str(refusal.value)


def test_a_delegation_token_says_that_it_is_one() -> None:
    text = f'{SCRAM} required username="id" password="mac" tokenauth="true";'
    options = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-256"}
    sasl = security_of({**options, "sasl.jaas.config": text}).sasl
    assert sasl is not None
    assert next(exchange(sasl)).endswith(b",tokenauth=true")


def test_a_token_endpoint_that_redirects_does_not_pass_the_password_on() -> None:
    request = token_request(Sasl("OAUTHBEARER", "me", "secret"), "https://login.example/token")
    assert request.has_header("Authorization")
    target = "https://evil.example/"
    followed = HTTPRedirectHandler().redirect_request(request, BytesIO(), 302, "", HTTPMessage(), target)
    assert followed is not None
    assert not followed.has_header("Authorization")
