"""Ports lie below those that the kernel gives to outgoing connections; where none is free, it chooses."""

from itertools import pairwise
from pathlib import Path

import pytest

from tidelog.server import free_ports as module


class Probe:
    def __init__(self, port: int) -> None:
        self.port = port

    def getsockname(self) -> tuple[str, int]:
        return ("localhost", self.port)

    def close(self) -> None:
        pass


class Machine:
    """Binds the ports that are free, also twice, as Linux does where nothing listens yet.

    Port 0 is one of the kernel's choice.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path, given: str, free: range) -> None:
        (path / "range").write_text(given)
        monkeypatch.setattr(module, "PORT_RANGE", path / "range")
        monkeypatch.setattr(module, "bound", self.bound)
        self.free, self.taken = free, set[int]()  # taken by others
        self.given = [40_000, 40_001]

    def bound(self, host: str, port: int) -> Probe:
        port = port or self.given.pop(0)
        if port in self.taken or (port < 40_000 and port not in self.free):
            raise OSError(f"{port} is taken")
        return Probe(port)


def test_ports_differ_and_are_none_of_the_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Machine(monkeypatch, tmp_path, "10300\t60999\n", range(10_000, 10_300))
    ports = module.free_ports("localhost", 200)
    assert len(set(ports)) == 200
    assert all(10_000 <= port < 10_300 for port in ports)


@pytest.mark.parametrize("given", ["1024 65000", "10000 65000"])
def test_a_kernel_that_gives_all_away_chooses(
    given: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Machine(monkeypatch, tmp_path, given, range(0))
    assert module.free_ports("localhost", 2) == [40_000, 40_001]


def test_the_kernel_chooses_where_nothing_else_is_free(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Machine(monkeypatch, tmp_path, "32768 60999", range(0))
    assert module.free_ports("localhost", 1) == [40_000]


def test_a_system_without_that_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Machine(monkeypatch, tmp_path, "", range(10_000, 32_768))
    [port] = module.free_ports("localhost", 1)
    assert 10_000 <= port < 32_768


def test_rows_of_ports_do_not_overlap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Machine(monkeypatch, tmp_path, "10300 60999", range(10_000, 10_300))
    firsts = sorted(module.free_ports("localhost", 20, in_a_row=3))
    assert all(second - first >= 3 for first, second in pairwise(firsts))
    assert firsts[-1] + 2 < 10_300


def test_ports_that_are_spoken_for_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Machine(monkeypatch, tmp_path, "10006 60999", range(10_000, 10_006))
    assert module.free_ports("localhost", 1, in_a_row=2, others={10_001, 10_004}) == [10_002]


def test_there_is_no_port_beyond_the_last() -> None:
    """The system takes 65,636 for 100."""
    with pytest.raises(OSError, match="65535 is the last port"):
        module.bound("localhost", 65_636)


def test_ports_of_a_row_may_lie_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, tmp_path, "10300 60999", range(10_000, 11_000))
    machine.taken = set(range(10_100, 10_130))
    firsts = module.free_ports("localhost", 20, in_a_row=3, step=100)
    rows = {port for first in firsts for port in (first, first + 100, first + 200)}
    assert len(rows) == 60
    assert rows.isdisjoint(machine.taken)
    assert max(rows) < 10_300


def test_a_row_of_the_kernels_choice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, tmp_path, "1024 65000", range(0))
    machine.given, machine.taken = [40_000, 50_000], {40_001}
    assert module.free_ports("localhost", 1, in_a_row=2) == [50_000]


@pytest.mark.parametrize(
    ("given", "away", "kept"),
    [("20000 29999", (20_000, 29_999), (19_999, 30_000)), ("nothing", (32_768, 65_535), (32_767,))],
)
def test_ports_that_outgoing_connections_may_get(
    given: str, away: tuple[int, ...], kept: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Machine(monkeypatch, tmp_path, given, range(0))
    assert all(map(module.may_be_given_away, away))
    assert not any(map(module.may_be_given_away, kept))
