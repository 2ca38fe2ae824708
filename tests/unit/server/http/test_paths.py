"""Several apps behind their paths, and sentences for everything else."""

import asyncio

import pytest

from tests.rigs.asgi import ask
from tidelog.server.http.asgi import Receive, Scope, Send, say
from tidelog.server.http.paths import Paths


async def one(scope: Scope, receive: Receive, send: Send) -> None:
    await say(send, 200, "This is one.")


PATHS = Paths({"/one": one, "/two": one})


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_path_has_its_app(method: str) -> None:
    assert asyncio.run(ask(PATHS, "/one", method)).text == "This is one.\n"


@pytest.mark.parametrize("path", ["/", "/one/", "/ONE", "", "/three"])
def test_another_path_is_told_what_there_is(path: str) -> None:
    answer = asyncio.run(ask(PATHS, path))
    assert answer.status == 404
    assert "/one, /two" in answer.text


@pytest.mark.parametrize("method", ["POST", "DELETE", "OPTIONS", "TRACE", "anything"])
def test_other_methods_are_refused(method: str) -> None:
    answer = asyncio.run(ask(PATHS, "/one", method))
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
