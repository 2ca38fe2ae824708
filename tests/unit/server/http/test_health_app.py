"""Verdicts as HTTP: a status for machines, a reason for people."""

import asyncio
import json

from tests.rigs.asgi import ask
from tidelog.broker.health import HealthVerdict
from tidelog.server.http.health_app import health_app


def test_a_good_verdict_is_200() -> None:
    answer = asyncio.run(ask(health_app(lambda: HealthVerdict(True))))
    assert (answer.status, json.loads(answer.body)) == (200, {"ok": True})


def test_a_bad_verdict_is_503_with_its_reason() -> None:
    answer = asyncio.run(ask(health_app(lambda: HealthVerdict(False, ("broker 1 is stopping",)))))
    assert answer.status == 503
    assert json.loads(answer.body) == {"ok": False, "reason": "broker 1 is stopping"}
    assert answer.headers["content-type"] == "application/json"
