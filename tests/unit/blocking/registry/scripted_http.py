"""HTTP connections without sockets: answers by URL, in their order, and what was asked."""

import json
from typing import Any, NamedTuple

from tidelog.blocking.registry.calls import RegistryCalls
from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.options import RegistryOptions

A, B = "http://a:8081", "http://b:8081"


class Asked(NamedTuple):
    url: str
    method: str
    target: str
    body: Any
    headers: dict[str, str]


class Answer:
    def __init__(self, body: Any = None, status: int = 200, location: str | None = None) -> None:
        self.status = status
        self.location = location
        self.content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def read(self, limit: int) -> bytes:
        return self.content[:limit]

    def getheader(self, name: str) -> str | None:
        assert name == "location"
        return self.location


def refused(code: int, message: str = "no") -> Answer:
    return Answer({"error_code": code, "message": message}, int(str(code)[:3]))


class ScriptedHttp:
    """{url: answers, or errors that are raised instead}. A URL without answers refuses connections."""

    def __init__(self, answers: dict[str, list[Any]]) -> None:
        self.answers = answers
        self.asked: list[Asked] = []
        self.opened: list[str] = []
        self.slept: list[float] = []
        self.time = 0.0

    def connect(self, url: str, _options: RegistryOptions) -> Any:
        return ScriptedConnection(self, url)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def calls(self, **options: Any) -> RegistryCalls:
        made = RegistryOptions(tuple(self.answers) or (A,), **options)
        return RegistryCalls(made, connect=self.connect, now=lambda: self.time, sleep=self.sleep)

    def client(self, **options: Any) -> RegistryClient:
        calls = self.calls(**options)
        return RegistryClient(calls.options, calls=calls)

    @property
    def targets(self) -> list[str]:
        return [f"{asked.method} {asked.target}" for asked in self.asked]


class ScriptedConnection:
    def __init__(self, http: ScriptedHttp, url: str) -> None:
        self._http, self._url = http, url

    def connect(self) -> None:
        if not self._http.answers.get(self._url):
            raise ConnectionRefusedError("refused")
        self._http.opened.append(self._url)

    def request(self, method: str, target: str, data: bytes | None, headers: dict[str, str]) -> None:
        body = None if data is None else json.loads(data)
        self._http.asked.append(Asked(self._url, method, target, body, dict(headers)))

    def getresponse(self) -> Answer:
        answer = self._http.answers[self._url].pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Answer)
        return answer

    def close(self) -> None:
        pass
