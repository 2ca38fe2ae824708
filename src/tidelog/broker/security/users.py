"""The users that a listener accepts, wherever they are kept: the metadata, the listener's configuration, a
file, and delegation tokens.

The broker's own user comes first, and is checked by the broker's own configuration: brokers must be able to
meet before there is any metadata. A change takes effect with the next authentication; connections that are
authenticated stay until they must authenticate again, as in Kafka.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping

from tidelog.broker.security.unknown_users import SALT_BYTES, UnknownUsers
from tidelog.metadata.image.security import SecurityImage
from tidelog.security.sasl.scram_credential import (
    ScramCredential,
    ScramMechanism,
    is_password_of,
    new_credential,
)
from tidelog.security.sasl.scram_server import KnownUser, of_user
from tidelog.security.sasl.users_file import Credentials

NO_USERS: Credentials = {}
FindToken = Callable[[ScramMechanism, str], KnownUser | None]


class Users:
    def __init__(
        self,
        security: Callable[[], SecurityImage],
        *,
        secret: Callable[[], bytes] = lambda: b"",
        own: tuple[str, str] | None = None,
        own_salt: bytes = bytes(SALT_BYTES),
        passwords: Mapping[str, str] | None = None,
        from_file: Callable[[], Credentials] = lambda: NO_USERS,
        find_token: FindToken = lambda mechanism, name: None,
    ) -> None:
        """`own` are the name and password of the brokers themselves; `passwords` are for PLAIN alone.
        `own_salt` is random: made from the password, it would show clients something to try passwords on.
        `secret` is of the cluster, for salts of users that do not exist."""
        self._security = security
        self._from_file = from_file
        self._find_token = find_token
        self._passwords = dict(passwords or {})
        self._own: dict[tuple[str, ScramMechanism], ScramCredential] = {}
        if own is not None:
            name, password = own
            self._passwords[name] = password
            for mechanism in ScramMechanism:
                self._own[name, mechanism] = new_credential(mechanism, password, own_salt)
        self.unknown = UnknownUsers(self.credentials, secret)

    def credentials(self) -> tuple[Credentials, ...]:
        """Returns what is kept of the users' passwords: the same objects as long as none has changed."""
        return self._security().credentials, self._from_file()

    def find(self, mechanism: ScramMechanism, name: str, is_token: bool) -> KnownUser | None:
        """Returns the user for SCRAM; None for one that does not exist, or has no such credential."""
        if is_token:
            return self._find_token(mechanism, name)
        key = (name, mechanism)
        credential = self._own.get(key) or self._security().credentials.get(key) or self._from_file().get(key)
        return None if credential is None else of_user(name, credential)

    def is_configured(self, name: str, password: str) -> bool:
        """Whether this is the password that the configuration has for the name. Takes no time."""
        expected = self._passwords.get(name)
        return expected is not None and _are_equal(expected, password)

    def is_password(self, name: str, password: str) -> bool:
        """For PLAIN. Slow, and as slow for a name that does not exist."""
        if self.is_configured(name, password):
            return True
        kept = [
            (mechanism, credentials[name, mechanism])
            for mechanism in ScramMechanism
            for credentials in (self._security().credentials, self._from_file())
            if (name, mechanism) in credentials
        ]
        if not kept or (name, ScramMechanism.SHA_256) in self._own:
            self.unknown.check_in_vain(name, password)
            return False
        return any(is_password_of(mechanism, credential, password) for mechanism, credential in kept)


def _are_equal(one: str, other: str) -> bool:
    """In a time that says nothing about the content or the length."""
    return hmac.compare_digest(*(hashlib.sha256(text.encode()).digest() for text in (one, other)))
