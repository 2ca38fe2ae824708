import resource
import sys

import pytest

from tidelog.server.open_files import file_limits


@pytest.mark.parametrize("soft", [256, 1024, 65_536, 1 << 20])
def test_the_disk_has_a_share_that_clients_cannot_take(soft: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))
    limits = file_limits()
    assert 0 < limits.clients < limits.logs < soft
    assert 64 <= soft - limits.clients <= 1024
    assert 16 <= limits.sealed_segments <= 256


def test_without_a_limit_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert file_limits().clients == sys.maxsize
