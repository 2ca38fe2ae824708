"""The cluster's metadata as handlers use it: read the image at any time, change it one decision at a time.

The active controller decides a change on the newest image; the quorum commits it; then it is applied, acted
on, and answered. Every other broker applies the same entries in the same order.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.base.ids import Epoch, NodeId, Offset
from tidelog.base.voters import parse_address
from tidelog.broker.controller.metadata_applier import MetadataApplier
from tidelog.broker.controller.quorum import Quorum
from tidelog.broker.turns import advance_in_turns, decide_in_turns
from tidelog.metadata.brokers.features import refusal_of_records
from tidelog.metadata.decision import Decision, ItemResult, Steps
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.metadata.image.records import Endpoint
from tidelog.metadata.store.entries.data import encode_decision
from tidelog.raft.errors import NotLeader

T = TypeVar("T")
Decide: TypeAlias = Callable[[ClusterImage], Decision[T] | Steps[T]]
"""Pure; a decision that may be large takes steps."""
Listener = Callable[[ImageDelta], Awaitable[None] | None]

log = logging.getLogger("tidelog.broker.metadata")


class MetadataService:
    def __init__(self, applier: MetadataApplier, static_config: BrokerConfig, node_id: NodeId) -> None:
        self.node_id = node_id
        self._applier = applier
        self._static_config = static_config
        self._one_at_a_time = asyncio.Lock()
        self._changing: dict[asyncio.Task[Any], tuple[Decide[Any], asyncio.Future[Any]]] = {}
        self._refusing: dict[asyncio.Task[Any], None] = {}
        self._listeners: list[Listener] = []
        self._live: tuple[Mapping[NodeId, BrokerImage], frozenset[NodeId]] = {}, frozenset()
        self.has_quorum = False
        self.errors = 0
        """Changes that a part of this broker could not act on."""
        self.config = static_config
        self._refresh_config()
        applier.notify = self._notify
        applier.on_disk_full = self._refuse_disk_full

    def join(self, quorum: Quorum) -> None:
        """Once it exists: the quorum reports to the applier, so that one comes first."""
        self._quorum = quorum
        self.has_quorum = True

    @property
    def quorum(self) -> Quorum:
        return self._quorum

    @property
    def image(self) -> ClusterImage:
        return self._applier.image

    @property
    def version(self) -> Offset:
        """Grows with every change, and over restarts."""
        return self._applier.applied

    @property
    def waiting_since(self) -> float | None:
        """Since when the oldest committed entry waits to be applied; None while none does."""
        return self._applier.waiting_since

    @property
    def leader_changes(self) -> int:
        """Leaders of the quorum that this broker has seen, and terms of each."""
        return self._applier.leader_changes

    @property
    def is_controller(self) -> bool:
        """Whether this broker decides, and knows all that was decided before."""
        return self._applier.is_controller

    @property
    def may_be_stale(self) -> bool:
        """The disk has had no room for the metadata: others may have taken over what this broker does."""
        return self._quorum.may_be_stale(self.version)

    @property
    def decides_here(self) -> bool:
        """Whether changes are asked of this broker: as controller, or to be refused for its failed disk."""
        return self._applier.is_controller or self.failure is not None

    @property
    def controller_id(self) -> NodeId | None:
        """The active controller as far as this broker knows; None while there is none."""
        return self._applier.leader_id

    @property
    def term(self) -> Epoch:
        """The term of the quorum in which `controller_id` leads it."""
        return self._quorum.leader_term

    @property
    def advertised_controller(self) -> NodeId:
        """The controller that answers name: one that is not fenced, so that clients get its address."""
        if self.controller_id is not None and self._is_alive(self.controller_id):
            return self.controller_id
        return self.controller_for_clients

    @property
    def controller_for_clients(self) -> NodeId:
        """Whom clients send to what is for the controller, since any broker passes it on: this one, with
        which they speak already. The controller itself may have died without anybody knowing yet, and
        librdkafka then waits for its return."""
        if self._is_alive(self.node_id):
            return self.node_id
        others = (broker.id for broker in self.image.brokers.values() if not broker.fenced)
        return next(others, self.node_id)

    def _is_alive(self, node_id: NodeId) -> bool:
        broker = self.image.brokers.get(node_id)
        return broker is not None and not broker.fenced

    @property
    def failure(self) -> Exception | None:
        """Why this broker can follow the metadata no longer, if so."""
        return self._quorum.failure or self._applier.failure

    def address_of(self, node_id: NodeId, listener: str) -> tuple[str, int] | None:
        """Where another broker is reached: as it registered, or as the quorum's settings name it."""
        broker = self.image.brokers.get(node_id)
        if broker is not None and listener in broker.endpoints:
            return broker.endpoints[listener].host, broker.endpoints[listener].port
        return self.quorum_address_of(node_id)

    def quorum_address_of(self, node_id: NodeId) -> tuple[str, int] | None:
        """For Raft's own messages: registrations may be older than a move of all brokers at once."""
        address = self._quorum.raft.address_of(node_id)
        try:
            return None if address is None else parse_address(address)
        except ValueError:  # the broker that registered this address cannot be reached there
            return None

    def reachable_brokers(self, listener: str) -> list[tuple[BrokerImage, Endpoint]]:
        """Live brokers with the address that a client of `listener` should use for each."""
        return [
            (broker, broker.endpoints[listener])
            for broker in self.image.brokers.values()
            if listener in broker.endpoints and not broker.fenced
        ]

    def live_broker_ids(self) -> frozenset[NodeId]:
        """Remembered until a broker changes: answers ask for each topic or partition."""
        brokers = self.image.brokers
        if brokers is not self._live[0]:
            self._live = brokers, frozenset(id for id, broker in brokers.items() if not broker.fenced)
        return self._live[1]

    def on_change(self, listener: Listener) -> None:
        """Listeners run on the loop, in the order they came, before the change is answered."""
        self._listeners.append(listener)

    async def until(self, version: Offset) -> None:
        """Wait until this broker knows what the cluster knew at `version`."""
        await self._applier.until(version)

    async def change(self, decide: Decide[T]) -> Sequence[T]:
        """As active controller. On another broker nothing changes, and the results say NOT_CONTROLLER.

        So they do where this broker leads again when the change has its turn: another controller may have
        been asked for it meanwhile. A caller that gives up waiting does not end it: the next decision must
        see what becomes of this one.
        """
        if self._quorum.disk_full is not None:
            return await self._refuse_all(decide, self._quorum.disk_full)
        answer: asyncio.Future[Sequence[T]] = asyncio.get_running_loop().create_future()
        changing = asyncio.get_running_loop().create_task(
            self._change(decide, answer, self._quorum.raft.term), name="metadata change"
        )
        self._changing[changing] = (decide, answer)
        changing.add_done_callback(self._changed)
        return await answer

    def _changed(self, task: "asyncio.Task[Any]") -> None:
        _, answer = self._changing.pop(task)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if answer.done():
            return
        if error is None:
            answer.set_result(task.result())
        elif task.cancelled():
            answer.cancel()
        else:
            answer.set_exception(error)

    def _refuse_disk_full(self, error: KafkaError) -> None:
        """Tell the callers that wait. What was proposed is done all the same once there is room, and the next
        decision waits for that; what was not is dropped."""
        for decide, answer in tuple(self._changing.values()):
            if not answer.done():
                refusing = asyncio.get_running_loop().create_task(self._refuse_all(decide, error))
                self._refusing[refusing] = None
                refusing.add_done_callback(partial(self._refused, answer))

    def _refused(self, answer: "asyncio.Future[Any]", task: "asyncio.Task[Any]") -> None:
        self._refusing.pop(task, None)
        if answer.done() or task.cancelled():
            return
        if (error := task.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(task.result())

    async def _refuse_all(self, decide: Decide[T], error: KafkaError) -> Sequence[T]:
        decided = decide(self.image)
        decision = decided if isinstance(decided, Decision) else await decide_in_turns(decided)
        return [_refused(result, error) for result in decision.results]

    async def _change(
        self, decide: Decide[T], answer: "asyncio.Future[Sequence[T]]", term: Epoch
    ) -> Sequence[T]:
        async with self._one_at_a_time:
            if answer.done() and not answer.cancelled():
                return answer.result()
            image, decision = await self._decided(decide)
            if not decision.records:
                return decision.results
            if (refusal := refusal_of_records(image, decision.records)) is not None:
                return [_refused(result, refusal) for result in decision.results]
            try:
                # What cannot be applied must not be agreed on: no broker could ever go past it.
                await advance_in_turns(image, decision.records)
                await self._commit(encode_decision(decision.records), image, term)
            except TidelogError as error:
                is_refused = error is self._quorum.disk_full
                is_replaced = isinstance(error, KafkaError) and error.code is ErrorCode.NOT_CONTROLLER
                if not (is_refused or is_replaced):
                    log.error("the cluster's metadata cannot be changed: %s", error)
                return [_refused(result, error) for result in decision.results]
            return decision.results

    async def _decided(self, decide: Decide[T]) -> tuple[ClusterImage, Decision[T]]:
        """With the image it stands on. A decision that changes something is confirmed by its commit. One that
        does not, such as "there is no such topic", is confirmed here: a controller that was replaced unawares
        may not know of it."""
        while True:
            image = self.image
            refusal, decision = None, Decision[T]([], [])
            try:
                decided = decide(image)
                decision = decided if isinstance(decided, Decision) else await decide_in_turns(decided)
            except KafkaError as error:
                refusal = error
            if decision.records and self.image is image:
                return image, decision
            try:
                await self.confirm_controller()
            except KafkaError as error:
                if refusal is not None:
                    raise
                return image, Decision([], [_refused(result, error) for result in decision.results])
            if self.image is image:
                if refusal is not None:
                    raise refusal
                return image, decision

    async def confirm_controller(self) -> None:
        """Returns once the image has all that was agreed on before, if this broker was controller then."""
        if isinstance(self.failure, KafkaError):
            raise self.failure
        if self._quorum.disk_full is not None:
            raise self._quorum.disk_full
        if not self.is_controller:
            raise self._not_controller()
        try:
            await self._applier.until(await self._quorum.confirm())
        except NotLeader as error:
            raise self._not_controller() from error

    async def _commit(self, data: bytes, image: ClusterImage, term: Epoch) -> None:
        """Propose, and wait until it is agreed on, applied, and acted on by this broker."""
        if isinstance(self.failure, KafkaError):
            raise self.failure
        if self._quorum.disk_full is not None:
            raise self._quorum.disk_full
        if not self.is_controller:
            raise self._not_controller()

        def propose() -> "asyncio.Future[None]":
            raft = self._quorum.raft
            if self.image is not image or raft.term != term:
                raise NotLeader(raft.leader_id)  # others led meanwhile: what was decided may be wrong by now
            return self._applier.expect(raft.propose(data, self._quorum.now), term)

        try:
            agreed = await self._quorum.do(propose)
        except NotLeader as error:
            raise self._not_controller() from error
        await agreed

    def _not_controller(self) -> KafkaError:
        return KafkaError(ErrorCode.NOT_CONTROLLER, "This broker is not the active controller.")

    async def _notify(self, delta: ImageDelta) -> None:
        if delta.after.broker_configs is not delta.before.broker_configs:
            self._refresh_config()
        for listener in self._listeners:
            try:
                acting = listener(delta)
                if acting is not None:
                    await acting
            except Exception:  # the change holds, and the others must hear of it all the same
                self.errors += 1
                log.exception("a change of the cluster's metadata could not be acted on in full")

    def _refresh_config(self) -> None:
        configs = self.image.broker_configs
        self.config = self._static_config.with_dynamic(
            cluster=configs.get("", {}),
            broker=configs.get(str(self.node_id), {}),
            on_problem=lambda problem: log.error("a stored setting is ignored: %s", problem),
        )


def _refused(result: T, error: TidelogError) -> T:
    """An item that was decided but could not be written was not done; nor is a refusal by a controller that
    may have been replaced worth anything."""
    if not isinstance(result, ItemResult):
        raise error
    replaced = isinstance(error, KafkaError) and error.code is ErrorCode.NOT_CONTROLLER
    if not result.ok and not replaced:
        return result
    code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
    return msgspec.structs.replace(result, error=code, message=str(error))
