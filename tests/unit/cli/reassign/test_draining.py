"""What a drain says in the end: how the brokers leave, and what would stop with them."""

from collections.abc import Callable
from typing import Any

import pytest

from tidelog.cli.cluster.view import Broker, ClusterView
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign import draining
from tidelog.cli.reassign.draining import Drain
from tidelog.cli.reassign.run import How

VIEW = ClusterView("cluster", 1, {id: Broker(id, "host", 9090 + id) for id in (1, 2)}, {})
HOW = How(dry_run=False, throttle=None, wait=True, yes=True)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (None, "Stop 2 now: the cluster forgets a drained broker that stops."),
        (Exit.REFUSED, "Stop 2 now, then forget each: tidelog cluster unregister BROKER"),
    ],
)
def test_only_a_cordoned_broker_is_forgotten_by_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: Exit | None, advice: str
) -> None:
    def set_cordons(*_: Any, **__: Any) -> None:
        if code is not None:
            raise CliError("Unknown config name", code=code)

    drain(monkeypatch, VIEW, (2,), set_cordons)
    assert advice in capsys.readouterr().err


@pytest.mark.parametrize(
    ("leaving", "others"),
    [
        ((1,), "1001 and 2001 on the same machine are not drained"),
        ((1, 1001), "2001 on the same machine is not drained"),
        ((1, 1001, 2001), None),
        ((2,), None),
    ],
)
def test_cores_that_are_stopped_with_a_drained_one_are_named(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    leaving: tuple[int, ...],
    others: str | None,
) -> None:
    cores = {id: Broker(id, "host", 9090 + id, machine="m") for id in (1, 1001, 2001)}
    drain(monkeypatch, ClusterView("cluster", 1, {**VIEW.brokers, **cores}, {}), leaving)
    said = capsys.readouterr().err
    assert ("on the same machine" in said) is (others is not None)
    if others is not None:
        assert f"{others}. If all of it is to stop: tidelog cluster drain --machine m" in said


def drain(
    monkeypatch: pytest.MonkeyPatch,
    view: ClusterView,
    leaving: tuple[int, ...],
    set_cordons: Callable[..., None] = lambda *_, **__: None,
) -> None:
    """Brokers that hold no replicas."""
    monkeypatch.setattr(draining, "set_cordons", set_cordons)
    monkeypatch.setattr(draining, "list_reassignments", lambda direct: {})
    monkeypatch.setattr(Drain, "_plan", lambda self: (view, []))
    monkeypatch.setattr(Drain, "_inheritance", lambda self, view: [])
    direct: Any = type("Direct", (), {"session": type("Session", (), {"json": False})})
    Drain(direct, leaving, HOW, keep_vote=False).run()
