"""The client's side of SASL: PLAIN, SCRAM and OAUTHBEARER as generators that yield the next message.

A generator receives each answer of the broker and ends once the exchange has succeeded. The blocking client
and the connections between brokers drive them.
"""

import base64
import hashlib
import hmac
from collections.abc import Generator, Sequence
from typing import TypeAlias

from tidelog.base.errors import TidelogError

Exchange: TypeAlias = Generator[bytes, bytes, None]
ITERATIONS_MIN, ITERATIONS_MAX = 4096, 1 << 20


class SaslRefused(TidelogError):
    """The broker did not prove itself, or refused the token. The text holds no secret."""


class TokenRefused(SaslRefused):
    """The broker refused the token of OAUTHBEARER."""


def plain(username: str, password: str) -> Exchange:
    yield f"\0{username}\0{password}".encode()


def bearer(token: str, extensions: Sequence[tuple[str, str]] = ()) -> Exchange:
    shown = "".join(f"{name}={value}\x01" for name, value in extensions)
    answer = yield f"n,,\x01auth=Bearer {token}\x01{shown}\x01".encode()
    if answer:  # a refusal comes as JSON, and wants an empty message before the broker says so itself
        yield b"\x01"
        raise TokenRefused(f"the broker refused the OAUTHBEARER token: {answer.decode(errors='replace')}")


def scram(mechanism: str, username: str, password: str, nonce: str, *, is_token: bool = False) -> Exchange:
    """RFC 5802, without channel binding, as Kafka has it. The second message takes milliseconds to make."""
    algorithm = "sha256" if mechanism.endswith("256") else "sha512"
    name = username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}" + (",tokenauth=true" if is_token else "")
    challenge = (yield f"n,,{first}".encode()).decode(errors="replace")
    fields = _scram_fields(challenge)
    try:
        server_nonce, salt, rounds = fields["r"], base64.b64decode(fields["s"]), int(fields["i"])
    except (KeyError, ValueError):
        raise SaslRefused(f"the broker's SCRAM challenge is malformed: {challenge!r}") from None
    # A server that did not echo our nonce, or that asks for few rounds, is not one that knows the password.
    if not server_nonce.startswith(nonce) or not ITERATIONS_MIN <= rounds <= ITERATIONS_MAX:
        raise SaslRefused(f"the broker's SCRAM challenge is not acceptable: {challenge!r}")
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, rounds)
    client_key = _hmac(salted, b"Client Key", algorithm)
    without_proof = f"c=biws,r={server_nonce}"
    signed = f"{first},{challenge},{without_proof}".encode()
    signature = _hmac(hashlib.new(algorithm, client_key).digest(), signed, algorithm)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    answer = yield f"{without_proof},p={base64.b64encode(proof).decode()}".encode()
    final = _scram_fields(answer.decode(errors="replace"))
    expected = _hmac(_hmac(salted, b"Server Key", algorithm), signed, algorithm)
    if not hmac.compare_digest(final.get("v", "").encode(), base64.b64encode(expected)):
        raise SaslRefused(
            f"the broker did not prove that it knows the password: {final.get('e', 'wrong signature')}"
        )


def _scram_fields(text: str) -> dict[str, str]:
    return {item[:1]: item[2:] for item in text.split(",")}


def _hmac(key: bytes, data: bytes, algorithm: str) -> bytes:
    return hmac.new(key, data, algorithm).digest()
