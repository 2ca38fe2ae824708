"""What a drain says in the end depends on whether the brokers could be cordoned."""

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

    monkeypatch.setattr(draining, "set_cordons", set_cordons)
    monkeypatch.setattr(draining, "list_reassignments", lambda direct: {})
    monkeypatch.setattr(Drain, "_plan", lambda self: (VIEW, []))
    monkeypatch.setattr(Drain, "_inheritance", lambda self, view: [])
    direct: Any = type("Direct", (), {"session": type("Session", (), {"json": False})})
    Drain(direct, (2,), HOW, keep_vote=False).run()
    assert advice in capsys.readouterr().err
