"""Tokens of an identity provider: real signatures, and every kind that must be refused."""

import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.utils import base64url_encode

from tidelog.security.jwt import KeySet, TokenRefused, TokenRules

NOW_MS = 1_700_000_000_000
NOW = NOW_MS // 1000
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())
RULES = TokenRules(issuer="https://idp.example.com", audiences=("tidelog", "kafka"))
CLAIMS = {"sub": "reports", "iss": "https://idp.example.com", "aud": "tidelog", "iat": NOW, "exp": NOW + 300}


def jwk(key, kid, algorithm):
    kind = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    entry = kind.to_jwk(key.public_key(), as_dict=True)
    return {**entry, "kid": kid, "alg": algorithm, "use": "sig"}


KEYS = KeySet(json.dumps({"keys": [jwk(RSA_KEY, "r", "RS256"), jwk(EC_KEY, "e", "ES256")]}))


def token(key=EC_KEY, algorithm="ES256", kid="e", headers=None, without=(), **claims):
    payload = {name: value for name, value in {**CLAIMS, **claims}.items() if name not in without}
    named = {} if kid is None else {"kid": kid}
    return jwt.encode(payload, key, algorithm, headers={**named, **(headers or {})})


@pytest.mark.parametrize(("key", "algorithm", "kid"), [(EC_KEY, "ES256", "e"), (RSA_KEY, "RS256", "r")])
def test_a_token_of_the_provider(key, algorithm, kid) -> None:
    verified = KEYS.verify(token(key, algorithm, kid, scope="read write"), RULES, NOW_MS)
    assert verified == ("reports", {"read", "write"}, (NOW + 300) * 1000)


def test_without_a_key_id_every_key_is_tried() -> None:
    assert KEYS.verify(token(kid=None), RULES, NOW_MS).subject == "reports"


def test_other_claims_for_subject_and_scope() -> None:
    rules = RULES._replace(subject_claim="client", scope_claim="scp", required_scopes=("kafka",))
    given = token(client="etl", scp=["kafka", "other"])
    assert KEYS.verify(given, rules, NOW_MS).subject == "etl"
    with pytest.raises(TokenRefused, match="lacks the scope kafka"):
        KEYS.verify(token(client="etl"), rules, NOW_MS)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": NOW - 31}, "expired 31 s ago"),
        ({"nbf": NOW + 31}, "nbf"),
        ({"iat": NOW + 3600}, "iat"),
        ({"iss": "https://evil.example.com"}, "is from"),
        ({"without": ("iss",)}, "is from"),
        ({"aud": "other"}, "is for"),
        ({"aud": ["a", "b"]}, "is for"),
        ({"without": ("aud",)}, "is for"),
        ({"without": ("exp",)}, "no expiry"),
        ({"without": ("sub",)}, "no subject"),
        ({"sub": ""}, "no subject"),
        ({"exp": "tomorrow"}, "exp"),
        ({"exp": 1e300}, "exp"),
        ({"exp": True}, "exp"),
        ({"key": OTHER_KEY}, "no known key"),
        ({"kid": "unknown"}, "no known key"),
        ({"kid": "r"}, "no known key"),
        ({"headers": {"crit": ["x"]}}, "critical"),
    ],
)
def test_tokens_that_are_refused(claims, reason) -> None:
    with pytest.raises(TokenRefused, match=reason):
        KEYS.verify(token(**claims), RULES, NOW_MS)


def test_the_clocks_may_differ_a_little() -> None:
    assert KEYS.verify(token(exp=NOW - 29, nbf=NOW + 29), RULES, NOW_MS).subject == "reports"


def test_a_token_without_a_signature() -> None:
    with pytest.raises(TokenRefused, match="'none'"):
        KEYS.verify(jwt.encode(CLAIMS, None, "none"), RULES, NOW_MS)


def test_the_public_key_taken_for_a_shared_secret() -> None:
    secret = RSA_KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    parts = [base64url_encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "kid": "r"}, CLAIMS)]
    signature = base64url_encode(hmac.digest(secret, b".".join(parts), "sha256"))
    forged = b".".join([*parts, signature]).decode()
    with pytest.raises(TokenRefused, match="HS256"):
        KEYS.verify(forged, RULES, NOW_MS)


def test_a_changed_claim() -> None:
    head, _, signature = token().split(".")
    forged = base64url_encode(json.dumps({**CLAIMS, "sub": "admin"}).encode()).decode()
    with pytest.raises(TokenRefused, match="no known key"):
        KEYS.verify(f"{head}.{forged}.{signature}", RULES, NOW_MS)


@pytest.mark.parametrize(
    "text", ["", "a", "a.b", "a.b.c", "....", "\x00.\x00.\x00", "e30.e30.e30", "x" * 70_000]
)
def test_what_is_no_token(text) -> None:
    with pytest.raises(TokenRefused):
        KEYS.verify(text, RULES, NOW_MS)


def test_a_key_that_is_not_listed_yet() -> None:
    assert KEYS.lists(token())
    assert not KEYS.lists(token(kid="new"))


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[]",
        "{}",
        '{"keys": []}',
        '{"keys": [1, null, "x"]}',
        '{"keys": 5}',
        '{"keys": [{"kty": "oct", "k": "AA"}]}',
        '{"keys": [{"kty": "RSA"}]}',
    ],
)
def test_documents_without_keys(document) -> None:
    with pytest.raises(TokenRefused, match="JWKS"):
        KeySet(document)
