"""A registry on a log in memory: requests go through a shard as the broker sends them, and wait for
nothing."""

from dataclasses import replace
from typing import Any, TypeVar

from tests.rigs.shard_log import ShardLog
from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.preparing import Job, Prepared
from tidelog.registry.schema import Reference, Schema, SchemaType
from tidelog.registry.state.registering import Registration
from tidelog.registry.state.shard import RegistryShard
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import StoredVersion

AnswerT = TypeVar("AnswerT")


def schema(text: str, *references: tuple[str, str, int], **fields: Any) -> Schema:
    return Schema(SchemaType.AVRO, text, tuple(Reference(*one) for one in references), **fields)


def prepare(job: Job) -> Prepared:
    """Stands for the real one: spaces do not count, normalization makes small letters, `!` breaks every
    level."""
    text = job.source.text.replace(" ", "")
    problems = ("it shouts",) if "!" in text and job.earlier else ()
    return Prepared(text.lower() if job.normalize else text, problems)


class Registry:
    def __init__(self) -> None:
        self.log: ShardLog[RegistryShard] = ShardLog(lambda: (0.0, 0))
        self.log.load(RegistryShard())

    @property
    def state(self) -> RegistryState:
        return self.log.shard.state

    def run(self, decision: ShardDecision[AnswerT | RegistryError]) -> AnswerT:
        answer = self.log.write(decision).answer
        if isinstance(answer, RegistryError):
            raise answer
        return answer

    def register(self, subject: str, what: str | Schema, **options: Any) -> StoredVersion:
        given = schema(what) if isinstance(what, str) else what
        request = Registration(subject, given, **options)
        answer = self.run(self.shard.register(request))
        while isinstance(answer, Job):
            job = answer
            answer = self.run(self.shard.register(request, job, prepare(job)))
        return replace(answer)  # as it was then

    @property
    def shard(self) -> RegistryShard:
        return self.log.shard

    def code_of(self, decision: ShardDecision[Any]) -> RegistryCode | None:
        answer = self.log.write(decision).answer
        return answer.code if isinstance(answer, RegistryError) else None

    def delete_for_good(self, subject: str) -> None:
        self.run(self.shard.delete_subject(subject))
        self.run(self.shard.delete_subject(subject, permanent=True))

    def compact(self, *, tombstones: bool = False) -> None:
        """Keep the newest record of each key; `tombstones`: those, too, are old enough to go."""
        newest = {key: at for at, (key, _) in enumerate(self.log.records)}
        self.log.records[:] = [
            StateRecord(key, value)
            for at, (key, value) in enumerate(self.log.records)
            if newest[key] == at and not (tombstones and value is None)
        ]

    def replayed(self) -> RegistryState:
        """Returns the state that another leader loads."""
        shard = RegistryShard()
        for key, value in self.log.records:
            shard.replay(key, value)
        return shard.state
