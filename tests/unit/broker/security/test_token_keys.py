"""The keys of an identity provider: read when they are needed, again as they age, and never too often."""

import base64
import json
from http.client import BadStatusLine, HTTPMessage
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tidelog.broker.security import token_keys
from tidelog.broker.security.token_keys import (
    DOCUMENT_BYTES_MAX,
    UNKNOWN_KEY_SECONDS,
    KeyTimes,
    TokenKeys,
    read_document,
)
from tidelog.security.jwt import TokenRefused, TokenRules

OLD, NEW = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
RULES = TokenRules(issuer="https://login.example", audiences=("kafka",))
NOW_S = 1_000_000


def document(**keys: ec.EllipticCurvePrivateKey) -> bytes:
    listed = []
    for key_id, key in keys.items():
        entry: dict[str, Any] = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
        listed.append({**entry, "kid": key_id, "alg": "ES256", "use": "sig"})
    return json.dumps({"keys": listed}).encode()


def token(key: ec.EllipticCurvePrivateKey, key_id: str, **claims: object) -> str:
    given = {"sub": "alice", "iss": "https://login.example", "aud": "kafka", "exp": NOW_S + 60, **claims}
    return jwt.encode(given, key, algorithm="ES256", headers={"kid": key_id})


class Provider:
    def __init__(self) -> None:
        self.content: bytes | Exception = document(old=OLD)
        self.reads = 0
        self.now = 0.0
        self.keys = TokenKeys(
            "https://login.example/keys",
            RULES,
            KeyTimes(refresh=3600, retry=0.1, retry_max=10),
            monotonic=lambda: self.now,
            now_ms=lambda: NOW_S * 1000,
            read=self.read,
        )

    def read(self, url: str) -> bytes:
        self.reads += 1
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


def test_keys_are_read_once_and_again_when_they_are_old() -> None:
    provider = Provider()
    for _ in range(3):
        assert provider.keys.verify(token(OLD, "old")).subject == "alice"
    assert provider.reads == 1
    provider.now = 3600
    provider.keys.verify(token(OLD, "old"))
    assert provider.reads == 2


def test_an_unknown_key_id_asks_again_but_not_for_every_token() -> None:
    provider = Provider()
    provider.keys.verify(token(OLD, "old"))
    provider.now = UNKNOWN_KEY_SECONDS
    provider.content = document(old=OLD, new=NEW)
    assert provider.keys.verify(token(NEW, "new")).subject == "alice"
    assert provider.reads == 2
    for number in range(100):
        with pytest.raises(TokenRefused):
            provider.keys.verify(token(NEW, f"invented-{number}"))
    assert provider.reads == 2


def test_while_keys_cannot_be_read_the_earlier_ones_stay() -> None:
    provider = Provider()
    provider.keys.verify(token(OLD, "old"))
    provider.now, provider.content = 3600, OSError("the provider is away")
    assert provider.keys.verify(token(OLD, "old")).subject == "alice"
    assert provider.keys.verify(token(OLD, "old")).subject == "alice"
    assert provider.reads == 2  # and not with every token
    provider.now += 0.2
    provider.keys.verify(token(OLD, "old"))
    assert provider.reads == 3


def test_without_any_keys_every_token_is_refused_until_they_come() -> None:
    provider = Provider()
    provider.content = OSError("the provider is away")
    for _ in range(2):
        with pytest.raises(TokenRefused, match="cannot be read"):
            provider.keys.verify(token(OLD, "old"))
    assert provider.reads == 1
    provider.now, provider.content = 0.1, document(old=OLD)
    provider.keys.verify(token(OLD, "old"))


def test_an_answer_that_is_no_http_counts_as_a_failure() -> None:
    provider = Provider()
    provider.keys.verify(token(OLD, "old"))
    provider.now, provider.content = 3600, BadStatusLine("\0\0")
    for _ in range(3):
        assert provider.keys.verify(token(OLD, "old")).subject == "alice"
    assert provider.reads == 2


def test_keys_of_a_kind_that_is_not_known_do_not_hide_the_others() -> None:
    provider = Provider()
    listed = json.loads(document(old=OLD))["keys"]
    others = [{"kty": "EC", "crv": "P-0", "x": "AA", "y": "AA"}, {"kty": "RSA", "alg": "RS9", "n": "AQ"}, 7]
    provider.content = json.dumps({"keys": [*others, *listed]}).encode()
    assert provider.keys.verify(token(OLD, "old")).subject == "alice"


def test_a_document_that_trickles_in_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1000))
    monkeypatch.setattr(token_keys.time, "monotonic", lambda: next(now))
    with pytest.raises(TimeoutError):
        token_keys._read_in_time(lambda _: b"x")
    assert next(now) < 10
    pieces = [b"{", b"}", b""]
    assert token_keys._read_in_time(lambda _: pieces.pop(0)) == b"{}"


@pytest.mark.parametrize(
    "refused",
    [
        token(NEW, "old"),
        token(OLD, "old", iss="https://evil.example"),
        token(OLD, "old", aud="mail"),
        token(OLD, "old", exp=NOW_S - 31),
        token(OLD, "old", nbf=NOW_S + 31),
        token(OLD, "old", sub=""),
        jwt.encode({"sub": "alice", "exp": NOW_S + 60}, "", algorithm="none"),
        "",
        "a.b.c",
        base64.urlsafe_b64encode(b"[" * 30_000).decode() + ".e30.x",
    ],
)
def test_what_is_refused(refused: str) -> None:
    with pytest.raises(TokenRefused):
        Provider().keys.verify(refused)


def test_a_redirect_does_not_lead_out_of_https() -> None:
    handler, headers = token_keys.StaysEncrypted(), HTTPMessage()

    def follow(url: str, target: str) -> Request | None:
        return handler.redirect_request(Request(url), BytesIO(), 302, "Found", headers, target)

    assert follow("https://login.example/keys", "https://other.example/keys") is not None
    assert follow("http://login.example/keys", "http://other.example/keys") is not None
    for target in ("http://login.example/keys", "ftp://login.example/keys"):
        with pytest.raises(URLError, match="not encrypted"):
            follow("https://login.example/keys", target)


def test_documents_come_from_files(tmp_path: Path) -> None:
    path = tmp_path / "the keys.json"
    path.write_bytes(b"{}")
    assert read_document(f"file://{tmp_path}/the%20keys.json") == b"{}"
    path.write_bytes(bytes(DOCUMENT_BYTES_MAX + 1))
    with pytest.raises(ValueError, match="larger than"):
        read_document(path.as_uri())
    with pytest.raises(OSError):
        read_document(f"file://{tmp_path}/missing")
