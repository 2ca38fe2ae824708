"""What reaches the socket of the service manager, and which variables are taken from the environment."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from tidelog.server.service_manager import ServiceManager


class Manager:
    """systemd's end."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.socket.setblocking(False)

    def heard(self) -> list[str]:
        lines = []
        while True:
            try:
                lines += self.socket.recv(4096).decode().split("\n")
            except BlockingIOError:
                return lines


@pytest.fixture(params=["file", "abstract"] if sys.platform == "linux" else ["file"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "notify") if request.param == "file" else f"@tidelog-test-{os.getpid()}"


def test_ready_beats_and_stopping(address: str) -> None:
    systemd = Manager(address)

    async def life() -> None:
        manager = ServiceManager(address, watchdog_s=3600)
        manager.starting()
        assert systemd.heard() == ["STATUS=Recovers its logs and waits for the cluster"]
        manager.ready("host-1:9092")
        assert systemd.heard() == ["READY=1", "STATUS=Answers at host-1:9092"]
        await asyncio.sleep(0)
        assert systemd.heard() == ["WATCHDOG=1"]
        manager.stopping()
        assert systemd.heard()[0] == "STOPPING=1"
        manager.close()

    asyncio.run(life())
    systemd.socket.close()


def test_a_manager_that_is_gone_is_no_fault(tmp_path: Path) -> None:
    ServiceManager(str(tmp_path / "nothing")).stopping()


@pytest.mark.parametrize(
    ("pid", "watchdog_s"), [(str(os.getpid()), 60.0), ("1", None), (None, 60.0)], ids=["us", "other", "any"]
)
def test_the_variables_are_taken_out_of_the_environment(pid: str | None, watchdog_s: float | None) -> None:
    environment = {"NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "60000000", "HOME": "/"}
    environment |= {} if pid is None else {"WATCHDOG_PID": pid}
    manager = ServiceManager.of_environment(environment)
    assert manager is not None
    assert manager._watchdog_s == watchdog_s
    assert environment == {"HOME": "/"}
    assert ServiceManager.of_environment(environment) is None
