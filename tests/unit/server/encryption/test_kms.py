"""Keys that a key management service holds: a command, or a Python object."""

import json
import sys
from pathlib import Path

import pytest

from tests.rigs import fake_kms
from tidelog.server.encryption.kms import KmsCommand, KmsWrapping, load_kms
from tidelog.storage.encryption.data_keys import EncryptionKeyError, Wrapped


def wrapping(tmp_path: Path, *names: str) -> KmsWrapping:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({name: f"{number:064x}" for number, name in enumerate(names)}))
    return KmsWrapping(KmsCommand(f"{sys.executable} {fake_kms.__file__} {keys}", 30), "the command")


def test_a_command_wraps_and_unwraps(tmp_path: Path) -> None:
    first = wrapping(tmp_path, "first")
    wrapped = first.wrap(b"data key")
    assert wrapped.kek_id == first.current == "first"
    rotated = wrapping(tmp_path, "first", "second")
    assert rotated.current == "second"
    assert rotated.unwrap(wrapped) == b"data key"
    with pytest.raises(
        EncryptionKeyError, match=r"did not unwrap a key with 'gone'.*access to gone is denied"
    ):
        rotated.unwrap(Wrapped("gone", b""))


@pytest.mark.parametrize("script", ["exit 3", "echo nonsense", "echo []", "sleep 60", "/does/not/exist"])
def test_a_command_that_fails_is_a_clear_refusal(script: str) -> None:
    command = script if script.startswith("/") else f"sh -c '{script}'"
    with pytest.raises(EncryptionKeyError, match="the command did not tell its current key"):
        KmsWrapping(KmsCommand(command, 0.5 if "sleep" in script else 10), "the command")


class InMemory:
    """As an operator writes it: no method `current`, so only rekey wraps anew."""

    def wrap(self, key: bytes) -> tuple[str, bytes]:
        return "only", key[::-1]

    def unwrap(self, kek_id: str, wrapped: bytes) -> bytes:
        return {"only": wrapped[::-1]}[kek_id]


def test_a_python_object_wraps_and_unwraps() -> None:
    made = KmsWrapping(load_kms(f"{__name__}:InMemory"), "the class")
    assert made.current is None
    assert made.unwrap(made.wrap(b"data key")) == b"data key"
    with pytest.raises(EncryptionKeyError):
        made.unwrap(Wrapped("other", b""))


@pytest.mark.parametrize("answer", [None, "key", ("only",), (None, b"key"), (7, b"key"), ("only", "key")])
def test_an_object_that_answers_nonsense_is_a_clear_refusal(answer: object) -> None:
    class Nonsense(InMemory):
        def wrap(self, key: bytes) -> tuple[str, bytes]:
            return answer  # type: ignore[return-value]

        def unwrap(self, kek_id: str, wrapped: bytes) -> bytes:
            return answer  # type: ignore[return-value]

        def current(self) -> str:
            return 7 if answer is None else "only"  # type: ignore[return-value]

    with pytest.raises(EncryptionKeyError, match="the class did not"):
        KmsWrapping(Nonsense(), "the class").wrap(b"data key")
    with pytest.raises(EncryptionKeyError, match="the class did not"):
        KmsWrapping(Nonsense(), "the class").unwrap(Wrapped("only", b"data key"))


@pytest.mark.parametrize("name", ["no_such_module:X", f"{__name__}:Missing", "nonsense"])
def test_a_class_that_cannot_be_loaded_is_named(name: str) -> None:
    with pytest.raises(EncryptionKeyError, match=f"{name} cannot be loaded"):
        load_kms(name)
