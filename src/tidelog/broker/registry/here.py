"""A call that runs on this broker, once: the leader of `_schemas` or, before there is one, the controller."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.registry.audited import record_call, record_unsure
from tidelog.broker.registry.calls import JUDGE, Answer, Call
from tidelog.broker.registry.coordinator import RegistryCoordinator
from tidelog.broker.registry.leading import Leading
from tidelog.broker.registry.led import EmptyRegistry, LedRegistry, NotCommitted, NoTopicYet
from tidelog.broker.registry.outcome import ANSWER_BYTES_MAX, Again, too_large
from tidelog.broker.registry.workers import SchemaWorkers
from tidelog.broker.requests.context import Services
from tidelog.metadata.topics.names import SCHEMAS

Answering: TypeAlias = Callable[[Call, Leading], Awaitable[Answer]]

RETENTION = (
    f"records of {SCHEMAS} would be deleted by age or size, and schemas with them; set its cleanup.policy to "
    f"compact (`tidelog config set topic {SCHEMAS} cleanup.policy=compact`)"
)


class CallsHere:
    def __init__(
        self,
        services: Services,
        coordinator: RegistryCoordinator,
        workers: SchemaWorkers,
        answering: Answering | None = None,
    ) -> None:
        """`answering` is the API; without it, the registry's own."""
        self._services = services
        self._coordinator = coordinator
        self._workers = workers
        self._answering = answering

    async def run(self, call: Call) -> Answer | Again:
        if problem := self._coordinator.problem:
            return Again(problem, is_final=True)
        if not self._coordinator.has_topic:
            return await self._run_without_topic(call)
        try:
            served = await self._coordinator.served()
        except KafkaError as error:
            return Again(f"{self._broker} does not serve the registry: {_reason(error)}")
        if served.partition.log.config.delete:
            return Again(RETENTION, is_final=True)
        leader = LedRegistry(self._services, self._workers, served)
        try:
            answer = await self._answer(call, leader)
            await leader.until_committed()
        except asyncio.CancelledError:  # the client has left
            if leader.has_written:
                record_unsure(self._services, call)
            raise
        except NotCommitted:
            if leader.has_written:
                record_unsure(self._services, call)
            return Again(
                f"{self._broker} may have stopped leading the registry before its answer was safe",
                may_have_run=leader.has_written,
            )
        if len(answer.body) > ANSWER_BYTES_MAX:
            answer = too_large(len(answer.body))
        record_call(self._services, call, answer, has_written=leader.has_written)
        return answer

    async def _run_without_topic(self, call: Call) -> Answer | Again:
        """The controller asks the others whether it still is one: a topic may have been created elsewhere."""
        try:
            await self._services.metadata.confirm_controller()
        except KafkaError as error:
            return Again(f"{self._broker} is not the controller of the cluster any more: {_reason(error)}")
        if self._coordinator.has_topic:
            return Again("the topic of the registry has just been created")
        try:
            return await self._answer(call, EmptyRegistry(self._services, self._workers))
        except NoTopicYet:
            pass
        try:
            await self._coordinator.ensure_topic()
        except KafkaError as error:
            return Again(f"the topic of the registry cannot be created: {_reason(error)}")
        if self._coordinator.leader == self._services.metadata.node_id:
            return await self.run(call)
        return Again("the topic of the registry has just been created")

    async def _answer(self, call: Call, leading: Leading) -> Answer:
        if call.method == JUDGE:
            from tidelog.broker.registry.validation.answering import answer as judged

            return await judged(call, leading)
        if self._answering is None:
            from tidelog.broker.registry.router import answer  # with the first call

            self._answering = answer
        return await self._answering(call, leading)

    @property
    def _broker(self) -> str:
        return f"broker {self._services.metadata.node_id}"


def _reason(error: KafkaError) -> str:
    return error.message or ErrorCode.of(error.code).text
