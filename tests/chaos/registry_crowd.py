"""Clients that register schemas through every broker of a cluster, and what they were answered.

Some schemas are a client's own, some are registered by all clients at about the same time, also in subjects
of their own. An answer holds: a schema has one id wherever it is registered, and no other schema has it.
"""

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import Any, NamedTuple

from tests.chaos.process_cluster import PATIENCE_S
from tests.chaos.victim import wait_until

CLIENTS = 6
TIMEOUT_S = 3.0
"""A broker that is paused answers nothing: another one is asked then."""
BUSY = 429
PAGE = 500


class Answered(NamedTuple):
    subject: str
    name: str
    id: int
    version: int


def ask(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Raises OSError or HTTPException where the broker is gone."""
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def schema(name: str) -> dict[str, str]:
    """Avro and Protobuf by turns: the name decides."""
    if name.endswith(("0", "2", "4", "6", "8")):
        fields = [{"name": "id", "type": "long"}]
        return {"schema": json.dumps({"type": "record", "name": name, "fields": fields})}
    return {"schemaType": "PROTOBUF", "schema": f'syntax = "proto3"; message {name} {{ int64 id = 1; }}'}


class RegistryCrowd:
    def __init__(self, ports: list[int]) -> None:
        """`ports` of the registry, one a broker."""
        self._ports = ports
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.answered: list[Answered] = []
        self.complaints: list[str] = []

    @contextmanager
    def working(self) -> Iterator[None]:
        clients = [threading.Thread(target=self._client, args=(number,)) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            yield
        finally:
            self._stop.set()
            for client in clients:
                client.join(PATIENCE_S)

    def until_answered(self, more: int) -> None:
        goal = len(self.answered) + more
        wait_until(
            lambda: len(self.answered) >= goal or bool(self.complaints),
            lambda: f"{goal} registrations are answered, so far {len(self.answered)}",
            PATIENCE_S,
        )

    def _client(self, number: int) -> None:
        chance = random.Random(number)
        turn = 0
        while not self._stop.is_set():
            shared = turn % 2 == 0
            name = f"Shared{turn}" if shared else f"Own{number}x{turn}"
            subject = f"{name}-of-{number}-value" if shared and number % 2 else f"{name}-value"
            if self._register(chance.choice(self._ports), subject, name):
                turn += 1

    def _register(self, port: int, subject: str, name: str) -> bool:
        try:
            status, answer = ask(port, "POST", f"/subjects/{subject}/versions", schema(name))
        except (OSError, HTTPException):
            return False
        with self._lock:
            if status == 200:
                self.answered.append(Answered(subject, name, answer["id"], answer["version"]))
            elif status < 500 and status != BUSY:
                self.complaints.append(f"{subject}: {status} {answer}")
        return status == 200

    def problems(self) -> Iterator[str]:
        """What the answers say against each other, and against what each broker says now."""
        yield from self.complaints
        names: dict[int, str] = {}
        for subject, name, id, version in self.answered:
            if names.setdefault(id, name) != name:
                yield f"the id {id} is {names[id]} and {name}"
            if version != 1:
                yield f"{subject} has one schema, and it became version {version}"
        if len(set(names.values())) != len(names):
            yield f"{len(names)} ids for {len(set(names.values()))} schemas"
        for port in self._ports:
            stored = list(_stored(port))
            found = set(stored)
            if len(found) != len(stored):
                yield f"port {port}: {len(stored)} schemas, {len(found)} of them different"
            for subject, _, id, version in self.answered:
                if (subject, id, version) not in found:
                    yield f"port {port}: {subject}, answered as id {id}, version {version}, is not there"


def _stored(port: int) -> Iterator[tuple[str, int, int]]:
    """Yields subject, id and version of all schemas, page by page."""
    offset = 0
    while True:
        status, page = ask(port, "GET", f"/schemas?offset={offset}&limit={PAGE}")
        assert status == 200, page
        yield from ((one["subject"], one["id"], one["version"]) for one in page)
        if len(page) < PAGE:
            return
        offset += PAGE
