"""`tidelog log new-key` and its siblings: on machines with several cores, and without cryptography."""

import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.server.encryption.key_file import KeyFile, add_key
from tidelog.storage.encryption.data_keys import DataKeys
from tidelog.storage.log_dir.files import LogDirFiles, LogDirIdentity

SECRET = b"of a user" * 20


@pytest.mark.parametrize("command", ["new-key", "rekey"])
def test_without_cryptography_the_error_says_what_to_install(command: str, tmp_path: Path) -> None:
    (tmp_path / "encryption.keys").write_bytes(b"")
    code = (
        "import sys; sys.modules['cryptography'] = None; from tidelog.cli.main import run; "
        f"sys.exit(run(['log', {command!r}, {str(tmp_path if command == 'rekey' else tmp_path / 'k')!r}]"
        f" + (['--key-file', 'k'] if {command!r} == 'rekey' else [])))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'tidelog[secure]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> list[Path]:
    """The log dirs of two cores; a third one never began."""
    paths = [tmp_path / "data", tmp_path / "data" / "cores" / "1"]
    for number, path in enumerate(paths):
        identity = LogDirIdentity("cluster", 1 + 1000 * number, f"dir-{number}")
        LogDirFiles.open(PosixDisk(), str(path), identity).close(clean=True)
        (path / "t-0").mkdir()
        (path / "t-0" / "0.log").write_bytes(SECRET)
    (tmp_path / "data" / "cores" / "2").mkdir()
    return paths


def test_the_log_dir_of_each_core_is_encrypted_with_keys_of_its_own(
    machine: list[Path], tmp_path: Path
) -> None:
    first, key_file = str(machine[0]), str(tmp_path / "keys")
    add_key(key_file, "old", bytes(32))
    before = [(path / "meta.properties").read_bytes() for path in machine]
    assert run(["log", "encrypt", first, "--key-file", key_file]) == Exit.OK
    assert [(path / "meta.properties").read_bytes() for path in machine] == before
    assert not any(SECRET in (path / "t-0" / "0.log").read_bytes() for path in machine)
    add_key(key_file, "new", bytes(range(32)))
    assert run(["log", "rekey", first, "--key-file", key_file]) == Exit.OK
    keys = [DataKeys.open(PosixDisk(), str(path), KeyFile.read(key_file)) for path in machine]
    assert [each.kek_ids[-1] for each in keys] == ["new", "new"]
    assert set(keys[0].stored).isdisjoint(keys[1].stored)
    assert run(["log", "decrypt", first, "--key-file", key_file]) == Exit.OK
    assert [(path / "t-0" / "0.log").read_bytes() for path in machine] == [SECRET, SECRET]
    assert [sorted(each.name for each in path.glob("encryption.keys*")) for path in machine] == [[], []]


def test_cores_that_are_plain_are_left_so(machine: list[Path], tmp_path: Path) -> None:
    key_file = str(tmp_path / "keys")
    add_key(key_file, "key", bytes(32))
    assert run(["log", "rekey", str(machine[0]), "--key-file", key_file]) == Exit.NOT_FOUND
    assert run(["log", "encrypt", str(machine[0]), "--key-file", key_file]) == Exit.OK
    assert run(["log", "decrypt", str(machine[1]), "--key-file", key_file]) == Exit.OK
    assert run(["log", "rekey", str(machine[0]), "--key-file", key_file]) == Exit.OK
    assert (machine[1] / "t-0" / "0.log").read_bytes() == SECRET


def test_a_call_goes_on_where_another_stopped_between_two_cores(
    machine: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, key_file = str(machine[0]), str(tmp_path / "keys")
    damaged = machine[1] / "t-0" / "0.log"
    add_key(key_file, "key", bytes(32))
    assert run(["log", "encrypt", first, "--key-file", key_file]) == Exit.OK
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert run(["log", "decrypt", first, "--key-file", key_file]) != Exit.OK
    damaged.write_bytes(whole)
    assert run(["log", "decrypt", first, "--key-file", key_file]) == Exit.OK
    assert [(path / "t-0" / "0.log").read_bytes() for path in machine] == [SECRET, SECRET]
    assert run(["log", "decrypt", first, "--key-file", key_file]) == Exit.NOT_FOUND
    assert f"{first} is not an encrypted log dir" in capsys.readouterr().err


def test_a_core_that_is_named_beside_its_machine_is_converted_once(
    machine: list[Path], tmp_path: Path
) -> None:
    paths, key_file = [str(path) for path in machine], str(tmp_path / "keys")
    add_key(key_file, "key", bytes(32))
    for command in ("encrypt", "rekey", "decrypt"):
        assert run(["log", command, *paths, "--key-file", key_file]) == Exit.OK


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_a_copy_that_was_not_finished_is_in_nobodys_way(
    machine: list[Path], tmp_path: Path, command: str
) -> None:
    first, key_file = machine[0], str(tmp_path / "keys")
    add_key(key_file, "key", bytes(32))
    if command == "decrypt":
        assert run(["log", "encrypt", str(first), "--key-file", key_file]) == Exit.OK
    (first / "t-0" / "0.log.tmp").write_bytes(SECRET[:20])
    assert run(["log", command, str(first), "--key-file", key_file]) == Exit.OK
    assert [path.name for path in (first / "t-0").iterdir()] == ["0.log"]
    assert ((first / "t-0" / "0.log").read_bytes() == SECRET) is (command == "decrypt")
