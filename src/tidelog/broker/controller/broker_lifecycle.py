"""This broker's lifecycle in the cluster: registration, heartbeats, and controlled shutdown.

A broker registers as fenced and reports its metadata offset; the controller unfences it once it has applied
its own registration. From then on it leads and follows partitions as the image says.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.base.ids import NO_EPOCH, Epoch, Uuid
from tidelog.base.ports import Clock
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.peers.peers import Peers
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.image import ImageDelta
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from tidelog.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from tidelog.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)

REGISTRATION_VERSION = 3
HEARTBEAT_VERSION = 1
RETRY_SECONDS = 0.25
REQUEST_SECONDS = 5.0
LEAVE_POLL_SECONDS = 0.02
IMAGE_POLL_SECONDS = 0.005

log = logging.getLogger("tidelog.broker.lifecycle")


class BrokerLifecycle:
    def __init__(
        self,
        metadata: MetadataService,
        peers: Peers,
        clock: Clock,
        identity: Callable[[], BrokerImage],
        failed_log_dirs: Callable[[], list[Uuid]],
        *,
        previous_epoch: Callable[[], Epoch],
    ) -> None:
        self._metadata = metadata
        self._peers = peers
        self._clock = clock
        self._identity = identity
        self._failed_log_dirs = failed_log_dirs
        self._previous_epoch = previous_epoch
        self.epoch: Epoch = NO_EPOCH
        self._task: asyncio.Task[None] | None = None
        self._leaving = False
        self._may_leave = asyncio.Event()
        self._nudge = asyncio.Event()
        self.failure: Exception | None = None
        self.heard_at: float | None = None
        """When the controller last answered a heartbeat."""
        self.report_log_dirs: Callable[[], Awaitable[None]] | None = None
        """Tells the controller which log dir each replica is in."""
        self._known_failed: frozenset[Uuid] = frozenset()
        """Failed log dirs that the controller has heard of."""

    @property
    def is_fenced(self) -> bool:
        me = self._metadata.image.brokers.get(self._metadata.node_id)
        return me is None or me.epoch != self.epoch or me.fenced

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._beat(), name="heartbeats")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def register(self) -> None:
        """Retries until the controller accepts. StorageError with the reason if it never will."""
        patience = 1.5 * self._metadata.config.int("broker.session.timeout.ms") / 1000
        began = logged_at = self._clock.monotonic()
        while True:
            self._check_metadata()
            me = self._identity()
            try:
                answer = await self._ask_to_register(me)
            except OSError as error:
                problem, code = str(error), ErrorCode.REQUEST_TIMED_OUT
            else:
                code, problem = ErrorCode.of(answer.error_code), ErrorCode.of(answer.error_code).name
                if code is ErrorCode.NONE:
                    self.epoch = answer.broker_epoch
                    if await self._is_in_image():
                        return
                    problem = "the registration is not in the metadata yet"
            now = self._clock.monotonic()
            if code is ErrorCode.DUPLICATE_BROKER_REGISTRATION and now - began > patience:
                raise StorageError(self._duplicate_text())
            if code is ErrorCode.INCONSISTENT_CLUSTER_ID:
                raise StorageError(
                    "controller.quorum.voters names brokers of another cluster than this broker's data; "
                    "give it the right voters, or an empty log dir"
                )
            if now - logged_at >= REQUEST_SECONDS:
                logged_at = now
                log.warning("this broker is not registered yet: %s; trying again", problem)
            await asyncio.sleep(RETRY_SECONDS)

    async def _is_in_image(self) -> bool:
        """Waits until the image holds the registration: only then is it clear which partitions are led
        elsewhere.

        False after a timeout: the registration may have been removed again.
        """
        began = self._clock.monotonic()
        while self._clock.monotonic() - began < REQUEST_SECONDS:
            me = self._metadata.image.brokers.get(self._metadata.node_id)
            if me is not None and me.epoch >= self.epoch:
                return True
            self._check_metadata()
            await asyncio.sleep(IMAGE_POLL_SECONDS)
        return False

    def _check_metadata(self) -> None:
        """A broker that can no longer follow the metadata would wait forever."""
        if self._metadata.failure is not None:
            raise self._metadata.failure

    def _duplicate_text(self) -> str:
        me = self._metadata.image.brokers.get(self._metadata.node_id)
        where = ", ".join(f"{e.host}:{e.port}" for e in me.endpoints.values()) if me else "elsewhere"
        return (
            f"another broker with node.id {self._metadata.node_id} is alive at {where}; give this one a "
            "node.id of its own, or stop the other first"
        )

    async def _ask_to_register(self, me: BrokerImage) -> BrokerRegistrationResponse:
        request = BrokerRegistrationRequest(
            broker_id=me.id,
            cluster_id=self._metadata.image.cluster_id,
            incarnation_id=me.incarnation,
            listeners=[
                Listener(name=where.listener, host=where.host, port=where.port, security_protocol=0)
                for where in me.endpoints.values()
            ],
            features=[
                Feature(
                    name=known.name,
                    min_supported_version=known.min_level,
                    max_supported_version=known.max_level,
                )
                for known in me.features
            ],
            rack=me.rack,
            machine=me.machine,
            log_dirs=list(me.directories),
            # This process may have been registered before, and has lost nothing since.
            previous_broker_epoch=self._previous_epoch() if self.epoch == NO_EPOCH else self.epoch,
        )
        answer: BrokerRegistrationResponse = await self._peers.call_controller(
            ApiKey.BROKER_REGISTRATION, REGISTRATION_VERSION, request, timeout=REQUEST_SECONDS
        )
        return answer

    async def next_producer_ids(self) -> range:
        """Returns a block of ids that no other broker gets. KafkaError without a controller."""
        if isinstance(self._metadata.failure, KafkaError):
            raise self._metadata.failure
        request = AllocateProducerIdsRequest(broker_id=self._metadata.node_id, broker_epoch=self.epoch)
        try:
            answer: AllocateProducerIdsResponse = await self._peers.call_controller(
                ApiKey.ALLOCATE_PRODUCER_IDS, 0, request, timeout=REQUEST_SECONDS
            )
        except OSError as error:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)) from error
        if answer.error_code:
            raise KafkaError(ErrorCode.of(answer.error_code))
        return range(answer.producer_id_start, answer.producer_id_start + answer.producer_id_len)

    # Heartbeats

    async def _beat(self) -> None:
        while True:
            interval = self._metadata.config.int("broker.heartbeat.interval.ms") / 1000
            try:
                answer = await self._heartbeat(interval)
                self.heard_at = self._clock.monotonic()
                fenced = answer.is_fenced
                if answer.should_shut_down:
                    self._may_leave.set()
                if answer.error_code in (
                    ErrorCode.STALE_BROKER_EPOCH,
                    ErrorCode.BROKER_ID_NOT_REGISTERED,
                ):
                    await self._register_again()
            except OSError as error:
                log.debug("a heartbeat was not answered: %s", error)
                fenced = False
            except StorageError as error:
                log.critical("%s", error)
                self.failure = error
                return
            except Exception:
                # This broker may be the controller itself. Without heartbeats it would stay fenced.
                log.exception("a heartbeat failed; trying again")
                fenced = False
            self._nudge.clear()
            # While it waits to be unfenced or to stop, a broker sends heartbeats more often.
            pause = min(interval, RETRY_SECONDS) if fenced or self._leaving else interval
            try:
                # Not wait_for: before Python 3.12 it may swallow the cancellation that ends this task.
                async with asyncio.timeout(pause):
                    await self._nudge.wait()
            except TimeoutError:
                pass

    async def _heartbeat(self, interval: float) -> BrokerHeartbeatResponse:
        failed = self._failed_log_dirs()
        if self.report_log_dirs is not None and not self._known_failed.issuperset(failed):
            # First: of a replica that has moved out of one, the controller would think that it began anew.
            await self.report_log_dirs()
        me = self._metadata.image.brokers.get(self._metadata.node_id)
        nothing_left = me is not None and bool(failed) and set(failed).issuperset(me.directories)
        if nothing_left and self.failure is None and len(self._metadata.image.brokers) > 1:
            self.failure = StorageError("every log dir of this broker has failed")
        request = BrokerHeartbeatRequest(
            broker_id=self._metadata.node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata.version,
            want_fence=nothing_left,
            want_shut_down=self._leaving,
            offline_log_dirs=failed,
        )
        answer: BrokerHeartbeatResponse = await self._peers.call_controller(
            ApiKey.BROKER_HEARTBEAT, HEARTBEAT_VERSION, request, timeout=max(interval, 1.0)
        )
        self._known_failed = frozenset(failed)
        return answer

    async def _register_again(self) -> None:
        """The cluster no longer knows this process: another process took its id, or an operator
        removed it."""
        if self._leaving:
            self._may_leave.set()
            return
        log.warning("the cluster no longer knows this broker; registering again")
        await self.register()

    def on_change(self, delta: ImageDelta) -> None:
        """A stopping broker waits until all others have applied this: send a heartbeat at once."""
        brokers = delta.after.brokers
        if any(id in brokers and brokers[id].shutting_down for id in delta.brokers_changed):
            self._nudge.set()

    async def until_unfenced(self) -> None:
        logged_at = self._clock.monotonic()
        while self.is_fenced:
            if self.failure is not None:
                raise self.failure
            self._check_metadata()
            if self._clock.monotonic() - logged_at >= REQUEST_SECONDS:
                logged_at = self._clock.monotonic()
                log.warning("waiting for the controller to unfence this broker")
            await asyncio.sleep(0.02)

    async def leave(self, seconds: float) -> None:
        """Controlled shutdown: other brokers take over leadership before this broker stops serving."""
        self._leaving = True
        self._nudge.set()
        began = led = self._clock.monotonic()
        patience = 2 * self._metadata.config.int("controller.quorum.election.timeout.ms") / 1000
        while not self._may_leave.is_set():
            now = self._clock.monotonic()
            if self._metadata.controller_id is not None:
                led = now
            if now - began >= seconds or now - led >= patience or self.failure is not None:
                log.warning(
                    "no controller took over this broker's partitions within %.1f s; stopping anyway",
                    now - began,
                )
                return
            await asyncio.sleep(LEAVE_POLL_SECONDS)
