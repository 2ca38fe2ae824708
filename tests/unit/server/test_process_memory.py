import ctypes
import platform

import pytest

from tidelog.server.process_memory import give_back_large_blocks


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_glibc_takes_the_setting() -> None:
    assert give_back_large_blocks()


def test_another_allocator_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not give_back_large_blocks()
