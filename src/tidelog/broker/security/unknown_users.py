"""What a client meets that names a user which does not exist: the same as with one that does.

SCRAM shows a client the salt and the iterations of a user before it has proved anything. Those of an unknown
name are like those of some known user, stay the same, and are the same at every broker. They are made with
ids of the cluster that no client is told before it is authenticated, and never with a password: a client that
collects such salts could try passwords on them at home. PLAIN computes as long for them as for a known user.
"""

import string
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from tidelog.metadata.image.image import ClusterImage
from tidelog.security.sasl.scram_credential import (
    ITERATIONS_MIN,
    ScramCredential,
    ScramMechanism,
    digest,
    is_password_of,
    keyed_digest,
)
from tidelog.security.sasl.users_file import Credentials

SALT_BYTES = 16
T = TypeVar("T")

_TEXT = (string.digits + string.ascii_lowercase).encode()
"""Java's admin client makes salts of these characters alone."""

_Work = tuple[tuple[ScramMechanism, int], ...]


class _Shape(NamedTuple):
    """What a client sees of a credential."""

    iterations: int = ITERATIONS_MIN
    salt_bytes: int = SALT_BYTES
    is_text: bool = False


class _Habits(NamedTuple):
    """How the credentials of the known users look; made anew when the users change."""

    of: tuple[Credentials, ...]
    shapes: Mapping[ScramMechanism, list[_Shape]]
    works: list[_Work]


class UnknownUsers:
    def __init__(
        self, known: Callable[[], tuple[Credentials, ...]], secret: Callable[[], bytes] = lambda: b""
    ) -> None:
        """`known` returns the users' credentials, the same objects as long as they do not change."""
        self._known = known
        self._secret = secret
        self._habits = _Habits((), {}, [])

    def credential(self, mechanism: ScramMechanism, name: str) -> ScramCredential:
        """Like that of a known user. No proof fits its keys."""
        shapes = self._current().shapes.get(mechanism) or [_Shape()]
        iterations, salt_bytes, is_text = self._pick(shapes, name)
        salt = self._bytes("salt", name, salt_bytes)
        if is_text:
            salt = bytes(_TEXT[byte % len(_TEXT)] for byte in salt)
        key_bytes = len(digest(mechanism, b""))
        stored, server = self._bytes("stored", name, key_bytes), self._bytes("server", name, key_bytes)
        return ScramCredential(salt, iterations, stored, server)

    def check_in_vain(self, name: str, password: str) -> None:
        """Compute for as long as a wrong password of a known user takes."""
        works = self._current().works or [((ScramMechanism.SHA_256, ITERATIONS_MIN),)]
        for mechanism, iterations in self._pick(works, name):
            is_password_of(mechanism, ScramCredential(b"no user", iterations, b"", b""), password)

    def _pick(self, choices: list[T], name: str) -> T:
        """Another choice beside the others changes it for few names: each has its favourite among them."""
        return max(choices, key=lambda choice: self._bytes(f"{choice!r}", name, 8))

    def _bytes(self, label: str, name: str, count: int) -> bytes:
        made = b""
        while len(made) < count:
            text = f"{label}:{len(made)}:{name}"
            made += keyed_digest(ScramMechanism.SHA_512, self._secret(), text.encode())
        return made[:count]

    def _current(self) -> _Habits:
        of, habits = self._known(), self._habits
        if len(of) != len(habits.of) or any(a is not b for a, b in zip(of, habits.of, strict=True)):
            habits = self._habits = _habits(of)
        return habits


def secret_of(image: ClusterImage) -> bytes:
    """The same on all brokers, and for as long as their log dirs last."""
    first = image.brokers[min(image.brokers)] if image.brokers else None
    directory = min(first.all_directories, default=b"") if first is not None else b""
    return image.cluster_id.encode() + bytes(directory)


def _habits(of: tuple[Credentials, ...]) -> _Habits:
    shapes: dict[ScramMechanism, set[_Shape]] = {}
    works: dict[str, set[tuple[ScramMechanism, int]]] = {}
    for credentials in of:
        for (name, mechanism), credential in credentials.items():
            salt = credential.salt
            shape = _Shape(credential.iterations, len(salt), all(byte in _TEXT for byte in salt))
            shapes.setdefault(mechanism, set()).add(shape)
            works.setdefault(name, set()).add((mechanism, credential.iterations))
    return _Habits(
        of,
        {mechanism: sorted(seen) for mechanism, seen in shapes.items()},
        sorted({tuple(sorted(work)) for work in works.values()}),
    )
