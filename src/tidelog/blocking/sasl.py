"""The client's side of SASL: PLAIN, SCRAM and OAUTHBEARER as generators that yield the next message.

A generator receives each answer of the broker and ends once the exchange has succeeded; it knows no sockets.
"""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Generator
from typing import TypeAlias

from tidelog.blocking.errors import LoginRefused, SecurityError
from tidelog.blocking.security import Sasl

Exchange: TypeAlias = Generator[bytes, bytes, None]
TOKEN_ANSWER_BYTES_MAX = 1 << 20
TOKEN_TIMEOUT_S = 10.0
ITERATIONS_MIN, ITERATIONS_MAX = 4096, 1 << 20


def exchange(sasl: Sasl, option_prefix: str = "") -> Exchange:
    if sasl.mechanism == "PLAIN":
        return _plain(sasl)
    if sasl.mechanism == "OAUTHBEARER":
        return _bearer(sasl, sasl.token if sasl.token is not None else fetch_token(sasl, option_prefix))
    nonce = base64.b64encode(os.urandom(24)).decode()
    return scram(sasl.mechanism, sasl.username, sasl.password, nonce, is_token=sasl.is_token)


def _plain(sasl: Sasl) -> Exchange:
    yield f"\0{sasl.username}\0{sasl.password}".encode()


def _bearer(sasl: Sasl, token: str) -> Exchange:
    extensions = "".join(f"{name}={value}\x01" for name, value in sasl.extensions)
    answer = yield f"n,,\x01auth=Bearer {token}\x01{extensions}\x01".encode()
    if answer:  # a refusal comes as JSON, and wants an empty message before the broker says so itself
        yield b"\x01"
        raise LoginRefused(f"the broker refused the OAUTHBEARER token: {answer.decode(errors='replace')}")


def scram(mechanism: str, username: str, password: str, nonce: str, *, is_token: bool = False) -> Exchange:
    """RFC 5802, without channel binding, as Kafka has it."""
    algorithm = "sha256" if mechanism.endswith("256") else "sha512"
    name = username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}" + (",tokenauth=true" if is_token else "")
    challenge = (yield f"n,,{first}".encode()).decode()
    fields = _scram_fields(challenge)
    try:
        server_nonce, salt, rounds = fields["r"], base64.b64decode(fields["s"]), int(fields["i"])
    except (KeyError, ValueError):
        raise SecurityError(f"the broker's SCRAM challenge is malformed: {challenge!r}") from None
    # A server that did not echo our nonce, or that asks for few rounds, is not one that knows the password.
    if not server_nonce.startswith(nonce) or not ITERATIONS_MIN <= rounds <= ITERATIONS_MAX:
        raise SecurityError(f"the broker's SCRAM challenge is not acceptable: {challenge!r}")
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, rounds)
    client_key = _hmac(salted, b"Client Key", algorithm)
    without_proof = f"c=biws,r={server_nonce}"
    signed = f"{first},{challenge},{without_proof}".encode()
    signature = _hmac(hashlib.new(algorithm, client_key).digest(), signed, algorithm)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    final = _scram_fields((yield f"{without_proof},p={base64.b64encode(proof).decode()}".encode()).decode())
    expected = _hmac(_hmac(salted, b"Server Key", algorithm), signed, algorithm)
    if not hmac.compare_digest(final.get("v", ""), base64.b64encode(expected).decode()):
        raise SecurityError(
            f"the broker did not prove that it knows the password: {final.get('e', 'wrong signature')}"
        )


def _scram_fields(text: str) -> dict[str, str]:
    return {item[:1]: item[2:] for item in text.split(",")}


def _hmac(key: bytes, data: bytes, algorithm: str) -> bytes:
    return hmac.new(key, data, algorithm).digest()


def fetch_token(sasl: Sasl, option_prefix: str = "") -> str:
    """Fetches a token by OAuth's client-credentials grant."""
    import urllib.error  # a third of what the whole client needs to be imported, and few use tokens
    import urllib.parse
    import urllib.request

    form = {"grant_type": "client_credentials"} | ({"scope": sasl.scope} if sasl.scope else {})
    login = base64.b64encode(f"{sasl.username}:{sasl.password}".encode()).decode()
    endpoint = sasl.token_endpoint or ""
    if not endpoint.startswith(("https://", "http://")):
        raise SecurityError(
            f"{option_prefix}sasl.oauthbearer.token.endpoint.url is {endpoint!r}, which is no http address"
        )
    request = urllib.request.Request(
        endpoint,
        urllib.parse.urlencode(form).encode(),
        {"Authorization": f"Basic {login}", "Accept": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=TOKEN_TIMEOUT_S) as answer:
            return str(json.loads(answer.read(TOKEN_ANSWER_BYTES_MAX))["access_token"])
    except (urllib.error.URLError, OSError, ValueError, KeyError) as error:
        raise SecurityError(f"no token from {endpoint}: {error!r}") from error
