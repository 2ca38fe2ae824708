"""Which log dirs a start encrypts, refuses, or leaves alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.error import ConfigError
from tidelog.base.ports import read_file, replace_file
from tidelog.server.encryption.key_file import add_key
from tidelog.server.encryption.log_dirs import encrypted_disk
from tidelog.storage.encryption.data_keys import EncryptionKeyError
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

LOG_DIRS = ["/a", "/b"]


def config(key_file: str | None) -> BrokerConfig:
    given = {"log.dirs.encryption": ("/b",), "log.dirs.encryption.key.file": key_file}
    return BrokerConfig({"log.dirs": ("/a", "/b"), **({} if key_file is None else given)})


@pytest.fixture
def key_file(tmp_path: Path) -> str:
    path = str(tmp_path / "log.keys")
    add_key(path, "first", bytes(32))
    return path


def test_only_what_the_setting_names_is_encrypted(key_file: str) -> None:
    memory = MemoryDisk()
    memory.make_dirs("/a")
    disk = encrypted_disk(memory, LOG_DIRS, ["/b"], config(key_file))
    for path in ("/a/x", "/b/x"):
        replace_file(disk, path, b"secret")
    assert read_file(memory, "/a/x") == b"secret"
    assert b"secret" not in (read_file(memory, "/b/x") or b"")
    # A start without the setting must not take the encrypted files for damaged ones.
    unnamed = encrypted_disk(memory, LOG_DIRS, [], config(None))
    assert read_file(unnamed, "/a/x") == b"secret"
    with pytest.raises(EncryptionKeyError, match=r"log\.dirs\.encryption does not name it"):
        unnamed.open("/b/x")


def test_a_new_first_key_wraps_at_the_next_start(key_file: str) -> None:
    memory = MemoryDisk()
    replace_file(encrypted_disk(memory, LOG_DIRS, ["/b"], config(key_file)), "/b/x", b"secret")
    add_key(key_file, "second", bytes(range(32)))
    encrypted_disk(memory, LOG_DIRS, ["/b"], config(key_file))
    first_line = Path(key_file).read_text().splitlines()[0]
    Path(key_file).write_text(f"{first_line}\n")
    assert read_file(encrypted_disk(memory, LOG_DIRS, ["/b"], config(key_file)), "/b/x") == b"secret"


@pytest.mark.parametrize(
    "given",
    [
        {"log.dirs.encryption": ("/c",), "log.dirs.encryption.key.file": "k"},
        {"log.dirs.encryption": ("all",)},
        {
            "log.dirs.encryption": ("all",),
            "log.dirs.encryption.key.file": "k",
            "log.dirs.encryption.kms.command": "c",
        },
    ],
    ids=["no such log dir", "no key", "two holders"],
)
def test_settings_that_do_not_fit_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"log\.dirs\.encryption"):
        BrokerConfig({"log.dirs": ("/a", "/b"), **given})  # type: ignore[dict-item]


def test_a_broker_without_it_imports_nothing_of_it() -> None:
    code = (
        "import sys, tidelog.node; "
        "print([name for name in sys.modules if name.startswith(('tidelog.storage.encryption', "
        "'tidelog.server.encryption'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
