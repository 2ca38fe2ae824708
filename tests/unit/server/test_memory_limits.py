"""The memory limit of a process: cgroups of both versions, their parents, and the address space."""

import resource
from pathlib import Path

import pytest

from tidelog.server.memory_limits import AddressSpace, MachineMemory, MemoryReading, memory_source

MIB = 1 << 20


def cgroup(root: Path, directory: str, files: dict[str, str]) -> None:
    path = root / "sys/fs/cgroup" / directory
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / name).write_text(text)


def process(root: Path, text: str) -> None:
    path = root / "proc/self"
    path.mkdir(parents=True)
    (path / "cgroup").write_text(text)


def read(root: Path) -> MemoryReading | None:
    source = memory_source(str(root))
    return None if source is None else source.read()


def test_version_2_without_what_the_kernel_can_drop(tmp_path: Path) -> None:
    process(tmp_path, "0::/pod/broker\n")
    files = {"memory.current": str(90 * MIB), "memory.stat": f"anon 5\ninactive_file {20 * MIB}\n"}
    cgroup(tmp_path, "pod/broker", {"memory.max": f"{100 * MIB}\n"} | files)
    assert read(tmp_path) == MemoryReading(100 * MIB, 70 * MIB, True)


def test_the_tightest_parent_counts(tmp_path: Path) -> None:
    process(tmp_path, "0::/pod/broker\n")
    files = {"memory.current": "7", "memory.stat": ""}
    cgroup(tmp_path, "pod/broker", {"memory.max": "max\n"} | files)
    cgroup(tmp_path, "pod", {"memory.max": str(50 * MIB)} | files)
    assert read(tmp_path) == MemoryReading(50 * MIB, 7, True)


def test_version_1_and_a_container_that_is_its_own_root(tmp_path: Path) -> None:
    process(tmp_path, "5:cpu:/x\n4:memory:/docker/abc\n0::/\n")
    files = {"memory.usage_in_bytes": str(30 * MIB), "memory.stat": f"total_inactive_file {10 * MIB}\n"}
    cgroup(tmp_path, "memory", {"memory.limit_in_bytes": str(64 * MIB)} | files)
    assert read(tmp_path) == MemoryReading(64 * MIB, 20 * MIB, True)


def test_without_a_limit_the_machine_is_shown_and_nothing_depends_on_it(tmp_path: Path) -> None:
    process(tmp_path, "4:memory:/\n")
    files = {"memory.usage_in_bytes": "1", "memory.stat": ""}
    cgroup(tmp_path, "memory", {"memory.limit_in_bytes": "9223372036854771712"} | files)
    assert isinstance(memory_source(str(tmp_path)), MachineMemory)
    reading = read(tmp_path)
    assert reading is not None
    assert not reading.is_limit
    assert 0 < reading.used_bytes < reading.limit_bytes


def test_a_limit_of_the_address_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(tmp_path, "0::/\n")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 40, 1 << 40))
    source = memory_source(str(tmp_path))
    assert isinstance(source, AddressSpace)
    assert 0 < source.read().used_bytes < source.read().limit_bytes == 1 << 40
