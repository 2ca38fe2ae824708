"""Users from the metadata, the configuration, a file and delegation tokens."""

import base64
import hashlib
import os
from pathlib import Path

import pytest

from tidelog.broker.security.token_users import TokenUsers
from tidelog.broker.security.users import Users
from tidelog.broker.security.users_file import LOOK_SECONDS, UsersFile
from tidelog.metadata.image.security import DelegationToken, SecurityImage
from tidelog.metadata.security.tokens import token_hmac
from tidelog.security.principal import Principal
from tidelog.security.sasl.scram_credential import ScramMechanism, is_password_of, new_credential
from tidelog.security.sasl.users_file import UsersFileError, users_file_line

SHA_256, SHA_512 = ScramMechanism
SALT = b"0123456789abcdef"
ALICE = new_credential(SHA_256, "alice-secret", SALT)
SECURITY = SecurityImage(credentials={("alice", SHA_256): ALICE})


def of_image(image: SecurityImage = SECURITY) -> Users:
    return Users(lambda: image)


def test_users_of_the_metadata_serve_scram_and_plain() -> None:
    users = of_image()
    found = users.find(SHA_256, "alice", False)
    assert found is not None
    assert found.credential == ALICE
    assert found.authenticated.principal == Principal("User", "alice")
    assert users.find(SHA_512, "alice", False) is None
    assert users.find(SHA_256, "alice", True) is None
    assert users.is_password("alice", "alice-secret")
    assert not users.is_password("alice", "other")
    assert not users.is_password("bob", "alice-secret")


def test_either_mechanism_of_a_user_serves_plain() -> None:
    image = SecurityImage(credentials={("bob", SHA_512): new_credential(SHA_512, "bob-secret", SALT)})
    assert of_image(image).is_password("bob", "bob-secret")


def test_the_brokers_own_user_needs_no_metadata_and_comes_first() -> None:
    image = SecurityImage(credentials={("broker", SHA_256): ALICE})
    users = Users(lambda: image, own=("broker", "own-secret"))
    for mechanism in ScramMechanism:
        found = users.find(mechanism, "broker", False)
        assert found is not None
        assert is_password_of(mechanism, found.credential, "own-secret")
    assert users.is_password("broker", "own-secret")
    assert not users.is_password("broker", "alice-secret")


def test_passwords_of_the_configuration_are_for_plain_alone() -> None:
    users = Users(SecurityImage, passwords={"carol": "carol-secret"})
    assert users.is_password("carol", "carol-secret")
    assert not users.is_password("carol", "carol-secret ")
    assert users.find(SHA_256, "carol", False) is None


def test_an_unknown_user_costs_plain_as_much_as_a_wrong_password(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []
    real = hashlib.pbkdf2_hmac

    def counted(name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        rounds.append(iterations)
        return real(name, password, salt, iterations)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", counted)
    users = Users(lambda: SECURITY, passwords={"carol": "carol-secret"})
    for name in ("alice", "carol", "nobody"):
        rounds.clear()
        assert not users.is_password(name, "wrong")
        assert rounds == [4096]


def test_plain_computes_for_an_unknown_user_what_it_computes_for_the_known(monkeypatch) -> None:
    image = SecurityImage(
        credentials={
            ("alice", SHA_256): new_credential(SHA_256, "a", SALT, 8192),
            ("alice", SHA_512): new_credential(SHA_512, "a", SALT, 5000),
        }
    )
    rounds: list[tuple[str, int]] = []
    real = hashlib.pbkdf2_hmac

    def counted(name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        rounds.append((name, iterations))
        return real(name, password, salt, iterations)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", counted)
    users = Users(lambda: image, passwords={"carol": "carol-secret"})
    for name in ("alice", "carol", "nobody"):
        rounds.clear()
        assert not users.is_password(name, "wrong")
        assert rounds == [("sha256", 8192), ("sha512", 5000)]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_file_is_read_again_once_it_changes(tmp_path: Path) -> None:
    path, clock = tmp_path / "users", Clock()
    path.write_text(users_file_line("dave", SHA_256, new_credential(SHA_256, "one", SALT)))
    file = UsersFile(str(path), clock)
    users = Users(SecurityImage, from_file=file.users)
    assert users.is_password("dave", "one")
    assert users.find(SHA_256, "dave", False) is not None

    path.write_text(users_file_line("dave", SHA_256, new_credential(SHA_256, "two", SALT)))
    os.utime(path, ns=(1, 1))
    assert users.is_password("dave", "one")  # not looked at again yet
    clock.now += LOOK_SECONDS
    assert users.is_password("dave", "two")
    assert not users.is_password("dave", "one")

    path.write_text("dave:plain text")  # a mistake must not lock everybody out
    clock.now += LOOK_SECONDS
    assert users.is_password("dave", "two")
    path.unlink()
    clock.now += LOOK_SECONDS
    assert users.is_password("dave", "two")


def test_a_broker_does_not_start_without_its_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        UsersFile(str(tmp_path / "missing"), Clock())
    (tmp_path / "bad").write_text("alice:secret")
    with pytest.raises(UsersFileError):
        UsersFile(str(tmp_path / "bad"), Clock())


def test_a_delegation_token_is_a_user_until_it_ends() -> None:
    token = DelegationToken("id-1", "User:alice", "User:alice", (), 0, 1000, 2000)
    now = 0
    tokens = TokenUsers(lambda: SecurityImage(tokens={"id-1": token}), b"secret", lambda: now)
    found = tokens.find(SHA_512, "id-1")
    assert found is not None
    assert found.authenticated == (Principal("User", "alice"), 1000, True)
    password = base64.b64encode(token_hmac(b"secret", "id-1")).decode()
    assert is_password_of(SHA_512, found.credential, password)
    assert tokens.find(SHA_512, "id-2") is None
    now = 1000
    assert tokens.find(SHA_512, "id-1") is None
