"""SCRAM-SHA-256 and SCRAM-SHA-512, the broker's side (RFC 5802 and 7677). No channel binding, as in Kafka.

An unknown user gets a challenge like any other, with a salt that stays the same for the name, and is refused
at the end: a client cannot learn which users exist. A proof never works twice, since the broker's nonce is
part of what is signed.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Callable
from typing import NamedTuple

from tidelog.security.principal import USER, Principal
from tidelog.security.sasl.conversation import Authenticated, AuthenticationFailed
from tidelog.security.sasl.scram_credential import (
    ScramCredential,
    ScramMechanism,
    digest,
    keyed_digest,
)

MESSAGE_BYTES_MAX = 8192
_NAME = r"(?:[^,=\x00]|=2C|=3D)+"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = r"[A-Za-z0-9+/=]+"
_FIRST = re.compile(rf"[ny],(?:a=({_NAME}))?,(n=({_NAME}),r=({_NONCE})((?:,[A-Za-z]+=[^,\x00]*)*))")
_FINAL = re.compile(rf"(c=({_BASE64}),r=({_NONCE})(?:,[A-Za-z]=[^,\x00]*)*),p=({_BASE64})")


class KnownUser(NamedTuple):
    credential: ScramCredential
    authenticated: Authenticated


class ScramServer:
    has_failed = False

    def __init__(
        self,
        mechanism: ScramMechanism,
        find_user: Callable[[str, bool], KnownUser | None],
        *,
        nonce: str,
        unknown: Callable[[str], ScramCredential],
    ) -> None:
        """`find_user` is given the name, and whether it is the id of a delegation token. `unknown` makes a
        credential for a name without a user, always the same."""
        self.result: Authenticated | None = None
        self._mechanism = mechanism
        self._find_user = find_user
        self._nonce = nonce
        self._unknown = unknown
        self._client_nonce = ""
        self._username = ""
        self._user: KnownUser | None = None
        self._credential: ScramCredential
        self._gs2_header = b""
        self._signed = ""
        self._is_begun = self._is_over = False

    def is_slow(self, message: bytes) -> bool:
        """A delegation token's credential is made of the token when it is needed first."""
        return not self._is_begun and b"tokenauth" in message

    def respond(self, message: bytes) -> bytes:
        if self._is_over or len(message) > MESSAGE_BYTES_MAX:
            raise AuthenticationFailed("a SCRAM message that is too long, or after the end of the exchange")
        try:
            text = message.decode()
        except UnicodeDecodeError as error:
            raise AuthenticationFailed("a SCRAM message that is not UTF-8") from error
        if self._is_begun:
            self._is_over = True
            return self._finish(text)
        self._is_begun = True
        return self._challenge(text)

    def _challenge(self, text: str) -> bytes:
        parsed = _FIRST.fullmatch(text)
        if parsed is None:
            raise AuthenticationFailed("a malformed first SCRAM message")
        authzid, bare, name, client_nonce, extensions = parsed.groups()
        username = _unescaped(name)
        if authzid is not None and _unescaped(authzid) != username:
            raise AuthenticationFailed(f"user {username!r} asked to act as another user", username)
        is_token = "tokenauth=true" in extensions.lower().split(",")
        self._user = self._find_user(username, is_token)
        credential = self._user.credential if self._user else self._unknown(username)
        self._gs2_header = text[: len(text) - len(bare)].encode()
        self._client_nonce = client_nonce
        self._nonce = client_nonce + self._nonce
        salt = base64.b64encode(credential.salt).decode()
        challenge = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._signed = f"{bare},{challenge}"
        self._credential = credential
        self._username = username
        return challenge.encode()

    def _finish(self, text: str) -> bytes:
        parsed = _FINAL.fullmatch(text)
        if parsed is None:
            raise AuthenticationFailed("a malformed final SCRAM message")
        without_proof, binding, nonce, proof_text = parsed.groups()
        if _base64(binding) != self._gs2_header:
            raise AuthenticationFailed("the SCRAM channel binding is not that of the first message")
        # librdkafka before 2.6.1, and so kcat of many distributions, puts its own nonce in front twice. The
        # broker's nonce is in it all the same, and the proof covers it.
        own = nonce.removeprefix(self._client_nonce) if nonce != self._nonce else nonce
        if not hmac.compare_digest(own.encode(), self._nonce.encode()):
            raise AuthenticationFailed("the SCRAM nonce is not that of this exchange")
        signed = f"{self._signed},{without_proof}".encode()
        mechanism, credential = self._mechanism, self._credential
        signature = keyed_digest(mechanism, credential.stored_key, signed)
        proof = _base64(proof_text)
        if len(proof) != len(signature):
            raise AuthenticationFailed("a SCRAM proof of the wrong length")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        is_right = hmac.compare_digest(digest(mechanism, client_key), credential.stored_key)
        if not is_right or self._user is None:
            reason = "wrong password" if self._user else "no such user"
            raise AuthenticationFailed(f"user {self._username!r}: {reason}", self._username)
        self.result = self._user.authenticated
        return b"v=" + base64.b64encode(keyed_digest(mechanism, credential.server_key, signed))


def of_user(name: str, credential: ScramCredential) -> KnownUser:
    return KnownUser(credential, Authenticated(Principal(USER, name)))


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise AuthenticationFailed("a SCRAM message with malformed base64") from error
