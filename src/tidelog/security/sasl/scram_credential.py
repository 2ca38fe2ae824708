"""What a broker keeps of a password for SCRAM: enough to check it, not enough to use it (RFC 5802)."""

import hashlib
import hmac
from enum import IntEnum

import msgspec

ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384
"""Kafka's limits for new credentials: each login costs the client that many rounds."""


class ScramMechanism(IntEnum):
    """With the numbers that the protocol uses."""

    SHA_256 = 1
    SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        return f"SCRAM-SHA-{self.digest_name.removeprefix('sha')}"

    @property
    def digest_name(self) -> str:
        return "sha256" if self is ScramMechanism.SHA_256 else "sha512"

    @classmethod
    def by_name(cls, name: str) -> "ScramMechanism | None":
        return next((known for known in cls if known.mechanism_name == name), None)


class ScramCredential(msgspec.Struct, frozen=True):
    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"  # a log line must not carry the keys


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """The slow part: some milliseconds."""
    return hashlib.pbkdf2_hmac(mechanism.digest_name, password.encode(), salt, iterations)


def credential_of(mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    client_key = keyed_digest(mechanism, salted, b"Client Key")
    return ScramCredential(
        salt,
        iterations,
        stored_key=digest(mechanism, client_key),
        server_key=keyed_digest(mechanism, salted, b"Server Key"),
    )


def new_credential(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int = ITERATIONS_MIN
) -> ScramCredential:
    return credential_of(mechanism, salted_password(mechanism, password, salt, iterations), salt, iterations)


def is_password_of(mechanism: ScramMechanism, credential: ScramCredential, password: str) -> bool:
    """For PLAIN, where the password itself arrives. Slow."""
    salted = salted_password(mechanism, password, credential.salt, credential.iterations)
    expected = credential_of(mechanism, salted, credential.salt, credential.iterations)
    return hmac.compare_digest(expected.stored_key, credential.stored_key)


def digest(mechanism: ScramMechanism, data: bytes) -> bytes:
    return hashlib.new(mechanism.digest_name, data).digest()


def keyed_digest(mechanism: ScramMechanism, key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, mechanism.digest_name)
