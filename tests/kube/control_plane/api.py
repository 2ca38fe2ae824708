"""A small client of the Kubernetes API: JSON in, JSON out, and the server's reason where it refuses."""

import http.client
import json
import ssl
from typing import Any

Item = dict[str, Any]


class Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Api:
    def __init__(self, port: int, token: str) -> None:
        self.port, self._token = port, token
        self._context = ssl.create_default_context()
        self._context.check_hostname = False  # the server made its certificate itself, a moment ago
        self._context.verify_mode = ssl.CERT_NONE

    def get(self, path: str) -> Item:
        return self._ask("GET", path)

    def items(self, path: str) -> list[Item]:
        found: list[Item] = self.get(path)["items"]
        return found

    def post(self, path: str, body: Item) -> Item:
        return self._ask("POST", path, body)

    def patch(self, path: str, body: Item) -> Item:
        return self._ask("PATCH", path, body, "application/strategic-merge-patch+json")

    def delete(self, path: str, body: Item) -> Item:
        return self._ask("DELETE", path, body)

    def _ask(self, method: str, path: str, body: Item | None = None, kind: str = "application/json") -> Item:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self._context)
        try:
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            found: Item = json.loads(text) if text.startswith(b"{") else {"message": text.decode()}
            if answer.status >= 400:
                raise Refused(answer.status, found.get("message", ""))
            return found
        finally:
            connection.close()
