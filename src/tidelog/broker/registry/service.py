"""Calls of the registry's API, from any broker to the leader of `_schemas`, which answers.

The leader runs a call where it is. Others send it there, with the principal of the caller, and again for a
while where the leader moves. So a call may run more than once: to register a schema again, or to set the same
config, changes nothing. A DELETE is tried again only where it surely has not run. A call that leaders do not
survive is not sent to one after the other: `LEADERS_LOST_MAX`.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tidelog.base.ids import NodeId
from tidelog.broker.peers.peers import PeerUnavailable
from tidelog.broker.registry.calls import JUDGE, Answer, Call
from tidelog.broker.registry.coordinator import RegistryCoordinator
from tidelog.broker.registry.here import CallsHere
from tidelog.broker.registry.messages import outcome_of, request_of
from tidelog.broker.registry.outcome import Again, unavailable, unsure
from tidelog.broker.registry.tally import CallTally
from tidelog.broker.requests.context import Services
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.registry_call import RegistryCallResponse

RETRY_SECONDS = 15.0
"""How long a call looks for a leader that answers: an election takes less."""
LEADERS_LOST_MAX = 2
"""Leaders that take a call and never answer. The first may have died of anything; the call may be why the
second did, and others are still needed."""
ATTEMPT_SECONDS = 30.0
"""For the leader to answer: it may have to check many large schemas."""
LOOK_SECONDS = 0.25
"""How often a call looks whether the leader that it waits for still leads."""
PAUSE_SECONDS = 0.02
PAUSE_SECONDS_MAX = 0.5
LANE = "registry"
READ_LANE = "registry reads"
"""For calls that hardly ever need a schema parsed: they do not queue behind registrations, which may take
seconds. Producers wait for some of them."""


class RegistryService:
    def __init__(self, services: Services, coordinator: RegistryCoordinator, here: CallsHere) -> None:
        self._services = services
        self.coordinator = coordinator
        self.here = here
        """For calls that other brokers send."""
        self.tally = CallTally()
        self._is_closed = False

    def close(self) -> None:
        """No call is tried again: this broker stops."""
        self._is_closed = True

    async def call(self, call: Call) -> Answer:
        """Answer a client of this broker."""
        now = self._services.clock.monotonic
        began = now()
        answer = await self._tried(call)
        self.tally.note(call.method, answer.status, now() - began)
        return answer

    async def ask(self, call: Call) -> Answer:
        """Answer this broker itself."""
        return await self._tried(call)

    async def _tried(self, call: Call) -> Answer:
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + RETRY_SECONDS, PAUSE_SECONDS
        lost: set[NodeId] = set()
        while True:
            tried = await self._try(call, lost)
            if isinstance(tried, Answer):
                return tried
            if tried.may_have_run and call.method == "DELETE":
                return unsure(tried.reason)
            if len(lost) >= LEADERS_LOST_MAX:
                return unavailable(
                    f"brokers {', '.join(map(str, sorted(lost)))} took this call and did not answer"
                )
            if tried.is_final or self._is_closed or loop.time() + pause >= deadline:
                return unavailable(tried.reason)
            await asyncio.sleep(pause)
            pause = min(2 * pause, PAUSE_SECONDS_MAX)

    async def _try(self, call: Call, lost: set[NodeId]) -> Answer | Again:
        target = self._target
        if target == self._services.metadata.node_id:
            return await self.here.run(call)
        if target is not None:
            return await self._send(call, target, lost)
        if self.coordinator.has_topic:
            return Again("its topic has no leader at the moment")
        return Again("the cluster has no controller at the moment")

    @property
    def _target(self) -> NodeId | None:
        """The broker that answers. Without a topic, only the controller knows for sure that there is none."""
        coordinator = self.coordinator
        return coordinator.leader if coordinator.has_topic else self._services.metadata.controller_id

    async def _send(self, call: Call, target: NodeId, lost: set[NodeId]) -> Answer | Again:
        """Adds the target to those that are `lost` where it took the call and did not answer."""
        services = self._services
        request = request_of(call, services.metadata.image.cluster_id)
        lane = READ_LANE if call.method in ("GET", JUDGE) and "format" not in call.query else LANE
        attempt = services.peers.call(
            target, ApiKey.REGISTRY_CALL, 0, request, timeout=ATTEMPT_SECONDS, lane=lane
        )
        try:
            response = await self._while_it_leads(target, attempt)
        except PeerUnavailable as error:
            return Again(f"broker {target} cannot be reached: {error}")
        except OSError as error:
            lost.add(target)
            why = str(error) or type(error).__name__
            return Again(f"broker {target} did not answer: {why}", may_have_run=True)
        return outcome_of(response)

    async def _while_it_leads(
        self, target: NodeId, attempt: Coroutine[Any, Any, RegistryCallResponse]
    ) -> RegistryCallResponse:
        """A leader that is isolated or hangs may never respond: stop waiting once another one leads."""
        sent = asyncio.get_running_loop().create_task(attempt, name="registry call")
        try:
            while not (await asyncio.wait([sent], timeout=LOOK_SECONDS))[0]:
                if self._is_closed or self._target not in {None, target}:
                    raise ConnectionError("another broker leads the registry now")
            return sent.result()
        finally:
            sent.cancel()
