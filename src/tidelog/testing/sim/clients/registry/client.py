"""A client that registers schemas under subjects of all and of its own, deletes, configures and reads.

Under shared subjects all clients register the same few schemas. Under a subject of its own a client sends one
request after the other, and takes another subject once it does not know what a request did.
"""

import asyncio
import json
from typing import Any

import msgspec

from tidelog.testing.registry_history import (
    OK,
    REFUSED,
    SHARED,
    UNSURE,
    RegistryHistory,
    RegistryRequest,
)
from tidelog.testing.sim.clients.client import Client
from tidelog.testing.sim.clients.registry.access import Heard, RegistryAccess
from tidelog.testing.sim.runtime.loop import SimLoop

SHARED_SUBJECTS = 2
SHARED_SCHEMAS = 30
OWN_SCHEMAS = 4
LEVELS = ("NONE", "NONE", "NONE", "BACKWARD", "FULL")
INCOMPATIBLE = 40901

SHARED_PART, READS_PART, OWN_PART, CONFIG_PART = 0.4, 0.55, 0.77, 0.82
"""Where each kind of act ends between 0 and 1; the rest are deletions."""


class SimRegistryClient:
    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        access: RegistryAccess,
        history: RegistryHistory,
        *,
        calls_per_second: float,
    ) -> None:
        self._loop = loop
        self._name = client.name
        self._chance = client.chance
        self._access = access
        self._history = history
        self._gap = 1.0 / calls_per_second
        self._owned = 0
        self._held: dict[int, tuple[str, bool]] = {}
        """Of its own subject: the text of each version, and whether it is soft-deleted."""
        self._ids: list[int] = []
        self.complaints: list[str] = []
        self.is_stopping = False
        self.has_ended = False

    async def run(self) -> None:
        while not self.is_stopping:
            await asyncio.sleep(self._gap * (0.5 + self._chance.random()))
            await self._act()
        self.has_ended = True

    async def _act(self) -> None:
        what = self._chance.random()
        if what < SHARED_PART:
            subject = f"{SHARED}{self._chance.randrange(SHARED_SUBJECTS)}"
            # Later ones come up as time goes by, so that there is always something new.
            latest = min(SHARED_SCHEMAS, 2 + int(self._loop.now))
            await self._register(subject, schema_text("S", self._chance.randrange(latest)))
        elif what < READS_PART:
            await self._read()
        elif what < OWN_PART:
            name = f"{self._name}_{self._owned}_"
            await self._register(self._own, schema_text(name, self._chance.randrange(OWN_SCHEMAS)))
        elif what < CONFIG_PART:
            level = self._chance.choice(LEVELS)
            request = self._request("config", self._own, level=level)
            await self._send(request, "PUT", f"/config/{self._own}", body={"compatibility": level})
        else:
            await self._delete()

    @property
    def _own(self) -> str:
        return f"own-{self._name}-{self._owned}"

    async def _register(self, subject: str, text: str) -> None:
        request = self._request("register", subject, text=text)
        heard = await self._send(request, "POST", f"/subjects/{subject}/versions", body={"schema": text})
        if heard.outcome == OK:
            self._ids.append(heard.body["id"])
        if heard.outcome == OK and subject == self._own:
            version = heard.body["version"]
            self._held = {one: held for one, held in self._held.items() if held != (text, True)}
            self._held[version] = (text, False)

    async def _read(self) -> None:
        if self._ids:
            schema_id = self._chance.choice(self._ids)
            await self._send(self._request("read", "", id=schema_id), "GET", f"/schemas/ids/{schema_id}")

    async def _delete(self) -> None:
        hidden = [number for number, (_, deleted) in self._held.items() if deleted]
        live = [number for number in self._held if number not in hidden]
        permanent = bool(hidden) and self._chance.random() < 0.5
        whole = bool(self._held) and (not live if permanent else bool(live))
        if whole and self._chance.random() < 0.4:
            await self._delete_subject(permanent)
        elif versions := (hidden if permanent else live):
            await self._delete_version(self._chance.choice(versions), permanent)

    async def _delete_subject(self, permanent: bool) -> None:
        request = self._request("delete_subject", self._own, permanent=permanent)
        heard = await self._send(request, "DELETE", f"/subjects/{self._own}", _query(permanent))
        if heard.outcome == OK:
            self._held = {} if permanent else {one: (text, True) for one, (text, _) in self._held.items()}

    async def _delete_version(self, version: int, permanent: bool) -> None:
        request = self._request("delete_version", self._own, version=version, permanent=permanent)
        path = f"/subjects/{self._own}/versions/{version}"
        heard = await self._send(request, "DELETE", path, _query(permanent))
        if heard.outcome == OK and permanent:
            del self._held[version]
        elif heard.outcome == OK:
            self._held[version] = (self._held[version][0], True)

    # Requests

    def _request(self, kind: str, subject: str, **more: Any) -> RegistryRequest:
        now = self._loop.now
        return RegistryRequest(self._name, kind, subject, now, now, UNSURE, **more)

    async def _send(
        self, request: RegistryRequest, method: str, path: str, query: str = "", body: Any = None
    ) -> Heard:
        number = self._history.begin(request)
        heard = await self._access.call(method, path, query, body)
        answered = heard.body if heard.outcome == OK and isinstance(heard.body, dict) else {}
        done = msgspec.structs.replace(
            request,
            ended=self._loop.now,
            outcome=heard.outcome,
            code=heard.code,
            id=answered.get("id", request.id),
            version=answered.get("version", request.version),
            text=answered["schema"] if request.kind == "read" and answered else request.text,
        )
        self._history.end(number, done)
        self._look_at(done)
        return heard

    def _look_at(self, done: RegistryRequest) -> None:
        if done.outcome == UNSURE and done.subject == self._own:
            self._owned += 1
            self._held = {}
        is_expected = done.kind == "read" or (done.code == INCOMPATIBLE and done.subject == self._own)
        if done.outcome == REFUSED and not is_expected:
            self.complaints.append(
                f"refused: {self._name} cannot {done.kind} {done.subject}: {self._access.last_problem}"
            )


def schema_text(name: str, number: int) -> str:
    """In its canonical form. Each is a record with a name of its own, so that texts and meanings are one."""
    return json.dumps({"type": "record", "name": f"{name}{number}", "fields": []}, separators=(",", ":"))


def _query(permanent: bool) -> str:
    return "permanent=true" if permanent else ""
