"""The schema registry's API on a state in memory: decisions are applied at once, without a log."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from tidelog.broker.registry.authorization import Authorization
from tidelog.broker.registry.calls import ANONYMOUS, Answer, Call
from tidelog.broker.registry.router import answer
from tidelog.coordination.decision import ShardDecision
from tidelog.registry.errors import RegistryError
from tidelog.registry.preparing import Job, Prepared, Source, formatted, prepare
from tidelog.registry.state.shard import RegistryShard

AnswerT = TypeVar("AnswerT")
HOST = "10.0.0.1"


class Got(NamedTuple):
    status: int
    json: Any

    @property
    def code(self) -> int:
        """Of an error."""
        return int(self.json["error_code"])


class LocalRegistry:
    """Is what the API needs of a leader (`Leading`)."""

    cluster_id = "a-cluster"

    def __init__(self, authorizer: Any = None, audit: Any = None) -> None:
        self.shard = RegistryShard()
        self.security = SimpleNamespace(authorizer=authorizer, audit=audit, denials={})
        self.authorization = Authorization(self.security)
        self.jobs: list[Job] = []
        self.records = 0
        self.turns = 0
        """That calls have let others have."""
        self.on_prepare: Callable[[], object] = lambda: None
        """Something that happens while a schema is checked."""

    async def prepare(self, job: Job) -> Prepared:
        self.jobs.append(job)
        prepared = prepare(job)
        self.on_prepare()
        return prepared

    async def formatted(self, source: Source, format: str) -> str:
        return formatted(source, format)

    async def write(
        self, decide: Callable[[RegistryShard], ShardDecision[AnswerT | RegistryError]]
    ) -> AnswerT:
        decision = decide(self.shard)
        self.shard.apply(decision, 0.0, 0)
        self.records += len(decision.records)
        made = decision.if_committed
        if isinstance(made, RegistryError):
            raise made
        return made

    def send(self, call: Call) -> Got:
        got = self.answer(call)
        return Got(got.status, json.loads(got.body) if got.body else None)

    def answer(self, call: Call) -> Answer:
        """Nothing here ever waits, so that no event loop is needed; a long list gives others a turn."""
        answering = answer(call, self)
        while True:
            try:
                assert answering.send(None) is None, "the API waited"
            except StopIteration as done:
                found: Answer = done.value
                return found
            self.turns += 1

    def get(self, path: str, query: str = "", principal: str = ANONYMOUS) -> Got:
        return self.send(Call("GET", path, query, principal=principal, host=HOST))

    def post(self, path: str, body: Any, query: str = "", principal: str = ANONYMOUS) -> Got:
        return self.send(Call("POST", path, query, json.dumps(body).encode(), principal, HOST))

    def put(self, path: str, body: Any, query: str = "", principal: str = ANONYMOUS) -> Got:
        return self.send(Call("PUT", path, query, json.dumps(body).encode(), principal, HOST))

    def delete(self, path: str, query: str = "", principal: str = ANONYMOUS) -> Got:
        return self.send(Call("DELETE", path, query, principal=principal, host=HOST))

    def register(self, subject: str, schema: Any, query: str = "", **more: Any) -> int:
        """Returns the id."""
        got = self.post(versions(subject), body_of(schema, **more), query)
        assert got.status == 200, got
        return int(got.json["id"])


def versions(subject: str) -> str:
    return f"/subjects/{quote(subject, safe='')}/versions"


def body_of(schema: Any, **more: Any) -> dict[str, Any]:
    return {"schema": schema if isinstance(schema, str) else json.dumps(schema), **more}


def record(*fields: str, name: str = "Order", defaults: bool = True) -> dict[str, Any]:
    """An Avro record of text fields."""
    default = {"default": ""} if defaults else {}
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": "string", **default} for field in fields],
    }
