"""A file of users: a name and what SCRAM keeps of a password, one a line. Passwords themselves are not in it.

    alice:SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy

Behind the name stand iterations, salt, stored key and server key, the form in which PostgreSQL keeps them.
"""

import base64
import binascii
import re
from collections.abc import Mapping

from tidelog.base.errors import TidelogError
from tidelog.security.sasl.scram_credential import ITERATIONS_MIN, ScramCredential, ScramMechanism

Credentials = Mapping[tuple[str, ScramMechanism], ScramCredential]

_LINE = re.compile(
    r"(?P<user>.+):(?P<mechanism>SCRAM-SHA-\d+)\$(?P<iterations>\d{1,9}):(?P<salt>[^:$]+)"
    r"\$(?P<stored>[^:$]+):(?P<server>[^:$]+)"
)


class UsersFileError(TidelogError):
    """A line is not understood. The message names the line and never its content."""


def parse_users(text: str) -> Credentials:
    """Read the file; empty lines and lines that begin with # are skipped. Raises UsersFileError."""
    users: dict[tuple[str, ScramMechanism], ScramCredential] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            user, mechanism, credential = _parse(line.strip(), number)
            if (user, mechanism) in users:
                raise UsersFileError(f"line {number}: {user!r} has {mechanism.mechanism_name} already")
            users[user, mechanism] = credential
    return users


def users_file_line(user: str, mechanism: ScramMechanism, credential: ScramCredential) -> str:
    salt, stored, server = (
        base64.b64encode(value).decode()
        for value in (credential.salt, credential.stored_key, credential.server_key)
    )
    return f"{user}:{mechanism.mechanism_name}${credential.iterations}:{salt}${stored}:{server}"


def _parse(line: str, number: int) -> tuple[str, ScramMechanism, ScramCredential]:
    found = _LINE.fullmatch(line)
    mechanism = ScramMechanism.by_name(found["mechanism"]) if found else None
    if found is None or mechanism is None:
        raise UsersFileError(
            f"line {number} is not name:SCRAM-SHA-256$iterations:salt$stored key:server key, in Base64"
        )
    try:
        salt, stored, server = (
            base64.b64decode(found[part], validate=True) for part in ("salt", "stored", "server")
        )
    except (binascii.Error, ValueError):
        raise UsersFileError(f"line {number}: salt and keys must be Base64") from None
    iterations = int(found["iterations"])
    key_bytes = 32 if mechanism is ScramMechanism.SHA_256 else 64
    if iterations < ITERATIONS_MIN or not len(stored) == len(server) == key_bytes:
        raise UsersFileError(
            f"line {number}: {mechanism.mechanism_name} needs {ITERATIONS_MIN} iterations at least, and keys "
            f"of {key_bytes} bytes"
        )
    return found["user"], mechanism, ScramCredential(salt, iterations, stored, server)
