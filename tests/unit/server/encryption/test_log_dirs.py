"""Which log dirs a start encrypts, refuses, or leaves alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rigs.encryption import FixedKey
from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.error import ConfigError
from tidelog.base.ports import Lock, read_file, replace_file
from tidelog.server.encryption.key_file import add_key
from tidelog.server.encryption.log_dirs import encrypted_disk, open_keys
from tidelog.storage.encryption.data_keys import EncryptionKeyError
from tidelog.storage.log_dir.encryption_marks import ENCRYPTION_KEYS_COPY, encryption_mark
from tidelog.storage.log_dir.files import ENCRYPTION_KEYS, RECOVERY_POINTS
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


@pytest.mark.parametrize("lost", [(), (ENCRYPTION_KEYS,), (ENCRYPTION_KEYS, ENCRYPTION_KEYS_COPY)], ids=len)
@pytest.mark.parametrize("written", [RECOVERY_POINTS, "t-0/partition.metadata"])
def test_encrypted_files_never_pass_for_damaged_plain_ones(
    key_file: str, lost: tuple[str, ...], written: str
) -> None:
    """Neither without the setting nor without the keys: recovery would truncate what is only encrypted."""
    memory = MemoryDisk()
    memory.make_dirs("/b/t-0")
    assert encryption_mark(memory, "/b") is None
    replace_file(memory, f"/b/{written}", b"plain")
    assert encryption_mark(memory, "/b") is None
    replace_file(encrypted_disk(memory, LOG_DIRS, ["/b"], config(key_file)), f"/b/{written}", b"secret")
    for name in lost:
        memory.remove(f"/b/{name}")
    assert encryption_mark(memory, "/b") is not None
    with pytest.raises(EncryptionKeyError, match=r"log\.dirs\.encryption does not name it"):
        encrypted_disk(memory, LOG_DIRS, [], config(None)).open(f"/b/{written}")
    named = encrypted_disk(memory, LOG_DIRS, ["/b"], config(key_file))
    if len(lost) < 2:
        assert read_file(named, f"/b/{written}") == b"secret"
        return
    with pytest.raises(EncryptionKeyError, match="its data keys are gone"):
        named.open(f"/b/{written}")
    assert not memory.exists(f"/b/{ENCRYPTION_KEYS}")  # new keys would hide that the old ones are missing


@pytest.mark.parametrize("harm", ["lost", "damaged", "older"])
def test_a_start_repairs_the_copies_of_the_data_keys(harm: str) -> None:
    memory = MemoryDisk()
    open_keys(memory, "/b", FixedKey())
    older = read_file(memory, f"/b/{ENCRYPTION_KEYS_COPY}") or b""
    both = FixedKey("second", b"2" * 32, {"first": b"k" * 32})
    open_keys(memory, "/b", both)
    if harm == "lost":
        memory.remove(f"/b/{ENCRYPTION_KEYS}")
    elif harm == "damaged":
        memory.flip_bit(f"/b/{ENCRYPTION_KEYS}", 30)
    else:  # a power cut between the two
        replace_file(memory, f"/b/{ENCRYPTION_KEYS_COPY}", older)
    second = FixedKey("second", b"2" * 32)
    keys = open_keys(memory, "/b", second)
    assert (
        read_file(memory, f"/b/{ENCRYPTION_KEYS}") == read_file(memory, f"/b/{ENCRYPTION_KEYS_COPY}") != older
    )
    memory.remove(f"/b/{ENCRYPTION_KEYS}")
    assert open_keys(memory, "/b", second).stored == keys.stored


def test_a_log_dir_whose_disk_fails_leaves_the_others_in_service(key_file: str) -> None:
    class Broken(MemoryDisk):
        def lock(self, path: str) -> Lock:
            if path.startswith("/b"):
                raise OSError(5, "Input/output error", path)
            return super().lock(path)

    disk = encrypted_disk(Broken(), LOG_DIRS, ["/a", "/b"], config(key_file))
    replace_file(disk, "/a/x", b"secret")
    assert read_file(disk, "/a/x") == b"secret"
    with pytest.raises(EncryptionKeyError, match=r"the data keys of /b cannot be read or written.*Input"):
        disk.open("/b/x")


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
        "import sys, tidelog.node.node; "
        "print([name for name in sys.modules if name.startswith(('tidelog.storage.encryption', "
        "'tidelog.server.encryption'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
