"""The registry over ASGI: what is refused before any schema is looked at, and what becomes a call."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from tests.rigs.local_registry import LocalRegistry
from tidelog.broker.registry.calls import ANONYMOUS
from tidelog.broker.registry.router import answer
from tidelog.broker.security.authentication import NotChecked
from tidelog.server.registry.app import RegistryApp
from tidelog.server.registry.authentication import Unauthenticated
from tidelog.server.registry.content_types import V1_JSON

REGISTER = json.dumps({"schema": '"string"'}).encode()


class Port:
    """An app on a registry in memory, and what it was asked."""

    def __init__(self, **options):
        self.registry = LocalRegistry()
        self.calls = []
        self.app = RegistryApp(self.call, body_bytes_max=1000, **options)

    async def call(self, call):
        self.calls.append(call)
        return await answer(call, self.registry)

    def ask(self, method, target, body=b"", leaves=False, **headers):
        return asyncio.run(self.request(method, target, body, leaves, **headers))

    async def request(self, method, target, body=b"", leaves=False, **headers):
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": "/decoded",
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "client": ("192.0.2.7", 50_000),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
        sent = []

        async def receive():
            return {"type": "http.disconnect"} if leaves else {"type": "http.request", "body": body}

        async def send(event):
            sent.append(event)

        await self.app(scope, receive, send)
        if not sent:
            return None
        found = SimpleNamespace(status=sent[0]["status"], body=sent[1]["body"])
        found.headers = {}
        for name, value in sent[0]["headers"]:
            found.headers.setdefault(name.decode(), []).append(value.decode())
        found.json = json.loads(found.body) if found.body else None
        return found


def test_a_request_becomes_a_call():
    port = Port()
    got = port.ask(
        "POST", "/subjects/a%2Fb/versions?normalize=true", REGISTER, content_type="application/json"
    )
    assert (got.status, got.json["id"]) == (200, 1)
    assert got.headers["content-type"] == [V1_JSON]
    (call,) = port.calls
    assert call == ("POST", "/subjects/a%2Fb/versions", "normalize=true", REGISTER, ANONYMOUS, "192.0.2.7")
    assert port.ask("GET", "/subjects").json == ["a/b"]


def test_the_client_chooses_among_the_content_types():
    got = Port().ask("GET", "/subjects", accept="application/json")
    assert got.headers["content-type"] == ["application/json"]


def test_a_head_is_a_get():
    port = Port()
    assert port.ask("HEAD", "/subjects").status == 200
    assert port.calls[0].method == "GET"


@pytest.mark.parametrize(
    ("method", "target", "headers", "code"),
    [
        ("GET", "/nothing", {}, 404),
        ("GET", "/subjects/a/b/c/d/e/f", {}, 404),
        ("GET", "/" + "x" * 20_000, {}, 404),
        ("PATCH", "/subjects", {}, 405),
        ("POST", "/subjects", {}, 405),
        ("OPTIONS", "/config", {}, 405),
        ("GET", "/subjects", {"accept": "text/html"}, 406),
        ("POST", "/subjects/a/versions", {"content_type": "text/plain"}, 415),
        ("PUT", "/config", {"content_type": "application/x-www-form-urlencoded"}, 415),
        ("PUT", "/config", {"content_encoding": "gzip"}, 415),
    ],
)
def test_what_is_wrong_with_any_call_is_refused_here(method, target, headers, code):
    port = Port()
    got = port.ask(method, target, REGISTER, **headers)
    assert (got.status, got.json["error_code"]) == (code, code)
    assert f"HTTP {code}" in got.json["message"]
    assert got.headers["content-type"] == [V1_JSON]
    assert port.calls == []


def test_a_compressed_body_is_told_what_is_taken():
    port = Port()
    assert port.ask("PUT", "/config", b"{}", content_encoding="br").headers["accept-encoding"] == ["identity"]
    assert port.ask("PUT", "/config", b"{}", content_encoding="Identity").status == 200


def test_a_wrong_method_is_told_the_right_ones():
    assert Port().ask("PATCH", "/subjects/a").headers["allow"] == ["DELETE, POST"]


def test_a_body_that_is_too_long_has_confluents_code():
    port = Port()
    got = port.ask("POST", "/subjects/a/versions", b"x" * 1001)
    assert (got.status, got.json["error_code"]) == (422, 42209)
    assert port.calls == []


def test_a_client_that_leaves_gets_no_answer():
    port = Port()
    assert port.ask("POST", "/subjects/a/versions", leaves=True) is None
    assert port.calls == []


class Authentication:
    challenges = ('Basic realm="schema registry"', 'Bearer realm="schema registry"')

    async def principal(self, header):
        if header == "busy":
            raise NotChecked("too many wait")
        if header != "right":
            raise Unauthenticated("wrong password of a known user", "Basic", "alice")
        return "User:alice"


def test_the_principal_goes_with_the_call():
    port = Port(authentication=Authentication())
    assert port.ask("GET", "/subjects", authorization="right").status == 200
    assert port.calls[0].principal == "User:alice"


@pytest.mark.parametrize("target", ["/subjects", "/nothing"])
def test_a_client_that_is_not_authenticated_learns_nothing(target):
    refused = []
    port = Port(
        authentication=Authentication(), on_refused=lambda host, error: refused.append((host, error.user))
    )
    got = port.ask("GET", target, authorization="wrong")
    assert (got.status, got.json["error_code"]) == (401, 40101)
    assert got.headers["www-authenticate"] == list(Authentication.challenges)
    assert b"alice" not in got.body
    assert b"known" not in got.body
    assert refused == [("192.0.2.7", "alice")]
    assert port.calls == []


def test_a_busy_broker_asks_the_client_to_come_again():
    got = Port(authentication=Authentication()).ask("GET", "/subjects", authorization="busy")
    assert (got.status, got.headers["retry-after"]) == (503, ["1"])
