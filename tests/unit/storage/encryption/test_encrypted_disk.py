"""Log dirs that are encrypted, plain, or out of reach for want of a key."""

import pytest

from tests.rigs.encryption import FixedKey, encrypted
from tidelog.base.ports import read_file, replace_file
from tidelog.storage.encryption.data_keys import (
    DataKeys,
    EncryptionKeyError,
    Wrapped,
    read_stored,
)
from tidelog.storage.encryption.encrypted_disk import EncryptedDisk
from tidelog.storage.encryption.layout import find_key
from tidelog.storage.log_dir.encryption_marks import ENCRYPTION_KEYS_COPY
from tidelog.storage.log_dir.files import ENCRYPTION_KEYS, META
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut

SECRET = b"a very secret value" * 5
PATH = "/data/t-0/00000000000000000000.log"


def disk_with(path: str, data: bytes) -> MemoryDisk:
    memory = MemoryDisk()
    memory.make_dirs("/data/t-0")
    memory.make_dirs("/plain/t-0")
    file = memory.open(path, create=True)
    file.write_at(0, [data])
    return memory


def raw(memory: MemoryDisk, path: str = PATH) -> bytes:
    return read_file(memory, path) or b""


def test_files_of_an_encrypted_log_dir_are_encrypted_and_others_are_not() -> None:
    memory = disk_with("/plain/t-0/x", b"")
    disk = encrypted(memory)
    for path in (PATH, "/data/recovery-point-offset-checkpoint", "/plain/t-0/x", f"/data/{META}"):
        replace_file(disk, path, SECRET)
        assert read_file(disk, path) == SECRET
        assert disk.size(path) == len(SECRET)
    assert SECRET[:19] not in raw(memory)
    assert SECRET[:19] not in raw(memory, "/data/recovery-point-offset-checkpoint")
    assert raw(memory, "/plain/t-0/x") == SECRET
    assert raw(memory, f"/data/{META}") == SECRET  # whose log dir it is: readable without a key


def test_a_log_dir_beside_one_whose_name_begins_alike_stays_plain() -> None:
    memory = MemoryDisk()
    memory.make_dirs("/data2")
    disk = encrypted(memory)
    replace_file(disk, "/data2/x", SECRET)
    assert raw(memory, "/data2/x") == SECRET


def test_a_file_from_before_is_read_as_it_is_and_encrypted_before_it_changes() -> None:
    memory = disk_with(PATH, SECRET)
    disk = encrypted(memory)
    file = disk.open(PATH)
    assert (file.read_at(0, 1000), disk.size(PATH)) == (SECRET, len(SECRET))
    assert raw(memory) == SECRET
    file.write_at(len(SECRET), [b"more"])
    assert SECRET[:19] not in raw(memory)
    assert file.read_at(0, 1000) == read_file(disk, PATH) == SECRET + b"more"
    assert memory.names("/data/t-0") == ["00000000000000000000.log"]


def test_a_file_from_before_is_encrypted_when_it_is_truncated_too() -> None:
    memory = disk_with(PATH, SECRET)
    disk = encrypted(memory)
    disk.open(PATH).truncate(20)
    assert SECRET[:19] not in raw(memory)
    assert read_file(disk, PATH) == SECRET[:20]


def test_encrypt_and_decrypt_in_place() -> None:
    memory = disk_with(PATH, SECRET)
    disk = encrypted(memory)
    assert disk.encrypt(PATH)
    assert not disk.encrypt(PATH)
    assert SECRET[:19] not in raw(memory)
    assert read_file(disk, PATH) == SECRET
    assert disk.decrypt(PATH)
    assert not disk.decrypt(PATH)
    assert raw(memory) == SECRET
    assert not disk.encrypt(f"/data/{ENCRYPTION_KEYS}")


def test_a_damaged_file_is_not_decrypted() -> None:
    memory = disk_with(PATH, SECRET)
    disk = encrypted(memory)
    disk.encrypt(PATH)
    memory.flip_bit(PATH, 120)
    before = raw(memory)
    with pytest.raises(OSError, match="not what was written"):
        disk.decrypt(PATH)
    assert raw(memory) == before


@pytest.mark.parametrize(
    "wrapping", [FixedKey("other"), FixedKey("first", b"x" * 32)], ids=["missing", "wrong"]
)
def test_without_the_right_key_nothing_opens_and_nothing_changes(wrapping: FixedKey) -> None:
    memory = MemoryDisk()
    replace_file(encrypted(memory), "/data/x", SECRET)
    before, operations = raw(memory, "/data/x"), memory.operations
    with pytest.raises(EncryptionKeyError, match="cannot be unwrapped"):
        DataKeys.open(memory, "/data", wrapping)
    disk = EncryptedDisk(memory, {"/data": EncryptionKeyError("no key")})
    for attempt in (
        lambda: disk.open("/data/x"),
        lambda: disk.open("/data/y", create=True),
        lambda: disk.size("/data/x"),
        lambda: disk.names("/data"),
        lambda: disk.is_dir("/data"),
        lambda: disk.exists("/data/x"),
        lambda: disk.make_dirs("/data/t-0"),
        lambda: disk.rename("/data/x", "/data/y"),
        lambda: disk.remove("/data/x"),
        lambda: disk.remove_tree("/data"),
        lambda: disk.sync_dir("/data"),
        lambda: disk.lock("/data/.lock"),
    ):
        with pytest.raises(EncryptionKeyError, match="no key"):
            attempt()
    assert (raw(memory, "/data/x"), memory.operations) == (before, operations)


def test_a_holder_that_unwraps_something_else_is_found_out() -> None:
    memory = MemoryDisk()
    encrypted(memory)

    class Careless(FixedKey):
        def unwrap(self, wrapped: object) -> bytes:
            return b"?" * 32

    with pytest.raises(EncryptionKeyError, match="another key than the one that is called 'first'"):
        DataKeys.open(memory, "/data", Careless())


def test_a_key_that_cannot_be_unwrapped_again_is_never_used() -> None:
    class Forgetful(FixedKey):
        def wrap(self, key: bytes) -> Wrapped:
            return super().wrap(bytes(len(key)))

    memory = MemoryDisk()
    memory.make_dirs("/data")
    with pytest.raises(EncryptionKeyError, match="does not unwrap it to the same bytes"):
        DataKeys.open(memory, "/data", Forgetful())
    assert memory.names("/data") == []
    keys = DataKeys.open(memory, "/data", FixedKey())
    before = raw(memory, f"/data/{ENCRYPTION_KEYS}")
    with pytest.raises(EncryptionKeyError, match="does not unwrap it to the same bytes"):
        keys.rewrap(memory, "/data", Forgetful())
    assert raw(memory, f"/data/{ENCRYPTION_KEYS}") == before


def test_a_file_whose_data_key_is_gone_is_refused_and_no_damage() -> None:
    memory = MemoryDisk()
    replace_file(encrypted(memory), "/data/x", SECRET)
    for name in (ENCRYPTION_KEYS, ENCRYPTION_KEYS_COPY):
        memory.remove(f"/data/{name}")
    disk = encrypted(memory)  # as a start with lost keys does: it makes new ones
    with pytest.raises(EncryptionKeyError, match=r"does not hold. Restore the encryption\.keys"):
        disk.open("/data/x")


def test_data_keys_survive_damage_to_one_of_their_files() -> None:
    memory = MemoryDisk()
    replace_file(encrypted(memory), "/data/x", SECRET)
    memory.flip_bit(f"/data/{ENCRYPTION_KEYS}", 30)
    assert read_file(encrypted(memory), "/data/x") == SECRET
    memory.flip_bit(f"/data/{ENCRYPTION_KEYS_COPY}", 30)
    with pytest.raises(EncryptionKeyError, match="are damaged"):
        DataKeys.open(memory, "/data", FixedKey())


def test_a_new_key_encryption_key_wraps_all_data_keys_and_new_files_get_a_new_one() -> None:
    memory = MemoryDisk()
    replace_file(encrypted(memory), "/data/x", SECRET)
    before = raw(memory, "/data/x")
    both = FixedKey("second", b"2" * 32, {"first": b"k" * 32})
    keys = DataKeys.open(memory, "/data", both)
    assert keys.needs_rewrap(both)
    assert not DataKeys.open(memory, "/data", FixedKey()).needs_rewrap(FixedKey())
    rewrapped = keys.rewrap(memory, "/data", both)
    assert rewrapped.kek_ids == ["second", "second"]
    second = FixedKey("second", b"2" * 32)
    disk = EncryptedDisk(memory, {"/data": DataKeys.open(memory, "/data", second)})
    assert raw(memory, "/data/x") == before
    assert read_file(disk, "/data/x") == SECRET
    replace_file(disk, "/data/y", SECRET)
    old, new = find_key(memory.open("/data/x")), find_key(memory.open("/data/y"))
    assert old is not None
    assert new is not None
    assert old.data_key != new.data_key
    with pytest.raises(EncryptionKeyError):
        DataKeys.open(memory, "/data", FixedKey())


def test_two_files_never_share_a_key_and_no_write_repeats_a_nonce() -> None:
    memory = MemoryDisk()
    disk = encrypted(memory)
    for name in ("x", "y"):
        replace_file(disk, f"/data/{name}", SECRET)
    x, y = raw(memory, "/data/x"), raw(memory, "/data/y")
    assert x[64:] != y[64:]
    file = disk.open("/data/x")
    file.truncate(10)
    file.write_at(10, [SECRET[10:]])
    assert read_file(disk, "/data/x") == SECRET
    assert x[100:130] not in raw(memory, "/data/x")[190:]


def test_a_power_cut_while_keys_are_written_leaves_one_set_of_them() -> None:
    for cut_at in range(1, 40):
        memory = MemoryDisk(cut_at)
        replace_file(encrypted(memory), "/data/x", SECRET)
        for directory in ("/", "/data"):
            memory.sync_dir(directory)
        both = FixedKey("second", b"2" * 32, {"first": b"k" * 32})
        keys = DataKeys.open(memory, "/data", both)
        memory.power_cut_at = memory.operations + cut_at
        try:
            keys.rewrap(memory, "/data", both)
            break
        except PowerCut:
            memory.crash()
        assert read_stored(memory, "/data") is not None
        disk = EncryptedDisk(memory, {"/data": DataKeys.open(memory, "/data", both)})
        assert read_file(disk, "/data/x") == SECRET
    assert cut_at > 6
