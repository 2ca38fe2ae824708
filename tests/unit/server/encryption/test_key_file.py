"""Key encryption keys in a file: its permissions, its form, and messages that show no key."""

import os
from pathlib import Path

import pytest

from tidelog.server.encryption.key_file import KeyFile, add_key
from tidelog.storage.encryption.data_keys import EncryptionKeyError

KEY = bytes(range(32))


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "log.keys")
    add_key(made, "first", KEY)
    return made


def test_a_new_file_is_for_its_owner_alone_and_wraps(path: str) -> None:
    assert os.stat(path).st_mode & 0o777 == 0o600
    keys = KeyFile.read(path)
    wrapped = keys.wrap(b"data key")
    assert wrapped.kek_id == keys.current == "first"
    assert b"data key" not in wrapped.data
    assert keys.unwrap(wrapped) == b"data key"


def test_a_key_that_is_added_comes_first_and_the_others_still_unwrap(path: str) -> None:
    wrapped = KeyFile.read(path).wrap(b"data key")
    add_key(path, "second", KEY[::-1])
    keys = KeyFile.read(path)
    assert keys.current == "second"
    assert keys.unwrap(wrapped) == b"data key"
    with pytest.raises(EncryptionKeyError, match="already"):
        add_key(path, "first", KEY)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_may_read_or_write_is_refused(path: str, mode: int) -> None:
    os.chmod(path, mode)
    with pytest.raises(EncryptionKeyError, match=f"chmod 600 {path}"):
        KeyFile.read(path)


@pytest.mark.parametrize(
    "content",
    ["", "# nothing\n", "one\n", "one AAAA\n", "one two three\n", "b@d " + "A" * 43 + "=\n", "\xff\n"],
)
def test_what_is_no_key_is_named_by_its_line_and_not_shown(path: str, content: str) -> None:
    Path(path).write_text(content)
    with pytest.raises(EncryptionKeyError) as caught:
        KeyFile.read(path)
    assert "AAA" not in str(caught.value)


def test_an_id_stands_for_one_key(path: str) -> None:
    Path(path).write_text(Path(path).read_text() * 2)
    with pytest.raises(EncryptionKeyError, match=r"line 2 .* repeats"):
        KeyFile.read(path)


def test_a_missing_or_other_key_is_named(path: str, tmp_path: Path) -> None:
    wrapped = KeyFile.read(path).wrap(b"data key")
    other = str(tmp_path / "other")
    add_key(other, "second", KEY)
    with pytest.raises(EncryptionKeyError, match=r"need the key 'first'.*it holds second"):
        KeyFile.read(other).unwrap(wrapped)
    add_key(other, "first", KEY[::-1])
    with pytest.raises(EncryptionKeyError, match=r"'first' of .* is not the one that wrapped them"):
        KeyFile.read(other).unwrap(wrapped)
    with pytest.raises(EncryptionKeyError, match="cannot be read: No such file"):
        KeyFile.read(str(tmp_path / "none"))


def test_an_id_is_a_word(tmp_path: Path) -> None:
    with pytest.raises(EncryptionKeyError, match="cannot be the id"):
        add_key(str(tmp_path / "keys"), "two words", KEY)


def test_what_lies_in_the_way_of_a_new_key_does_not_get_to_read_it(path: str, tmp_path: Path) -> None:
    """A temporary file of others would keep its mode, and a link would put the key elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"")
    elsewhere.chmod(0o644)
    Path(f"{path}.tmp").symlink_to(elsewhere)
    add_key(path, "second", b"2" * 32)
    assert elsewhere.read_bytes() == b""
    left = Path(f"{path}.tmp")
    left.write_bytes(b"")
    left.chmod(0o644)
    add_key(path, "third", b"3" * 32)
    assert KeyFile.read(path).current == "third"
