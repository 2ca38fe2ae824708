"""Data keys wrapped by a key management service, through a command or a Python object.

The command gets one JSON document on its standard input, so that no key is in a list of processes, and
writes one to its standard output:

  {"operation": "wrap", "key": BASE64}                        -> {"kek_id": TEXT, "wrapped": BASE64}
  {"operation": "unwrap", "kek_id": TEXT, "wrapped": BASE64}  -> {"key": BASE64}
  {"operation": "current"}                                    -> {"kek_id": TEXT}, or {} if it cannot tell

An exit code other than 0 is a failure; what the command then wrote to its standard error is shown.
"""

import base64
import importlib
import json
import shlex
import subprocess
from collections.abc import Callable
from typing import Any, Protocol

from tidelog.storage.encryption.data_keys import EncryptionKeyError, Wrapped


class Kms(Protocol):
    """What an object that `log.dirs.encryption.kms.class` names must offer; any exception is a failure.

    It may have `current() -> str`, the id of the key that wraps now: then a start wraps the data keys anew
    once that is another one.
    """

    def wrap(self, key: bytes) -> tuple[str, bytes]:
        """(id of the key encryption key, wrapped key)."""
        ...

    def unwrap(self, kek_id: str, wrapped: bytes) -> bytes: ...


class KmsCommand:
    def __init__(self, command: str, timeout_seconds: float) -> None:
        self._argv = shlex.split(command)
        self._timeout = timeout_seconds

    def current(self) -> str | None:
        found = self._call({"operation": "current"}).get("kek_id")
        return found if isinstance(found, str) else None

    def wrap(self, key: bytes) -> tuple[str, bytes]:
        answer = self._call({"operation": "wrap", "key": _text(key)})
        return answer["kek_id"], base64.b64decode(answer["wrapped"])

    def unwrap(self, kek_id: str, wrapped: bytes) -> bytes:
        answer = self._call({"operation": "unwrap", "kek_id": kek_id, "wrapped": _text(wrapped)})
        return base64.b64decode(answer["key"])

    def _call(self, request: dict[str, str]) -> dict[str, Any]:
        done = subprocess.run(
            self._argv,
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=self._timeout,
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()[-500:] or "and said nothing"
            raise RuntimeError(f"it exited with {done.returncode}: {said}")
        answer = json.loads(done.stdout)
        if not isinstance(answer, dict):
            raise ValueError("its answer is not a JSON object")
        return answer


class KmsWrapping:
    """Makes a `Kms` the holder of the keys; every failure of it is a clear refusal."""

    def __init__(self, kms: Kms, name: str) -> None:
        self._kms = kms
        self._name = name
        current: Callable[[], str | None] = getattr(kms, "current", lambda: None)
        self.current: str | None = self._asked("tell its current key", lambda: _current(current()))

    def wrap(self, key: bytes) -> Wrapped:
        wrapped: Wrapped = self._asked("wrap a key", lambda: _wrapped(*self._kms.wrap(key)))
        return wrapped

    def unwrap(self, wrapped: Wrapped) -> bytes:
        key: bytes = self._asked(
            f"unwrap a key with {wrapped.kek_id!r}",
            lambda: _bytes(self._kms.unwrap(wrapped.kek_id, wrapped.data)),
        )
        return key

    def _asked(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except KeyError as error:
            raise EncryptionKeyError(f"{self._name} did not {what}: its answer lacks {error}") from error
        except Exception as error:
            raise EncryptionKeyError(f"{self._name} did not {what}: {error}") from error


def load_kms(name: str) -> Kms:
    """`module:name` of a class or function that takes no arguments."""
    module, _, attribute = name.partition(":")
    try:
        made: Kms = getattr(importlib.import_module(module), attribute)()
    except Exception as error:
        raise EncryptionKeyError(f"log.dirs.encryption.kms.class {name} cannot be loaded: {error}") from error
    return made


# An answer of another type is a refusal here; unchecked, it would be stored and fail at the next start.


def _current(kek_id: object) -> str | None:
    if kek_id is not None and not isinstance(kek_id, str):
        raise TypeError(f"the id of a key is a text, not {type(kek_id).__name__}")
    return kek_id


def _wrapped(kek_id: object, data: object) -> Wrapped:
    if not isinstance(kek_id, str):
        raise TypeError(f"the id of a key is a text, not {type(kek_id).__name__}")
    return Wrapped(kek_id, _bytes(data))


def _bytes(found: object) -> bytes:
    if not isinstance(found, bytes):
        raise TypeError(f"a key is bytes, not {type(found).__name__}")
    return found


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
