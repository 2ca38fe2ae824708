"""The active controller: the broker that leads the metadata quorum, and what it does on its own account.

It receives the brokers' heartbeats, fences brokers whose session expires, and moves leadership back to
preferred leaders. Sessions are not part of the metadata: a new controller starts a full session for every
broker.
"""

import asyncio
import logging
from functools import partial

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, NodeId, uuid_from_random, uuid_text
from tidelog.base.ports import Clock, Random
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.metadata.brokers.brokers import (
    decide_fence_broker,
    decide_register_broker,
)
from tidelog.metadata.brokers.features import METADATA_VERSION, decide_default_features
from tidelog.metadata.brokers.heartbeats import BrokerSessions, Heartbeat, HeartbeatResult, decide_heartbeat
from tidelog.metadata.brokers.registration_rules import check_broker_epoch, how_it_ended
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.metadata.leaders.elections import decide_missing_leaders, decide_preferred_leaders
from tidelog.metadata.security.bootstrap import Bootstrap, decide_new_cluster
from tidelog.metadata.security.tokens import decide_forget_expired

WATCH_SECONDS_MAX = 0.5

log = logging.getLogger("tidelog.broker.controller")


class Controller:
    def __init__(
        self,
        metadata: MetadataService,
        clock: Clock,
        random: Random,
        cluster_id: str | None,
        bootstrap: Bootstrap | None = None,
    ) -> None:
        self._metadata = metadata
        self._clock = clock
        self._random = random
        self._cluster_id = cluster_id
        self._bootstrap = bootstrap
        self._sessions = self._new_sessions()
        self._task: asyncio.Task[None] | None = None
        self._look_for_leaders = False

    def on_role_change(self, active: bool) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if active:
            self._sessions = self._new_sessions()
            self._sessions.begin(self._metadata.image.brokers.values(), self._clock.monotonic())
            self._task = asyncio.get_running_loop().create_task(self._run(), name="controller")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def check_active(self) -> None:
        if not self._metadata.is_controller:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "This broker is not the active controller.")

    # Registration and heartbeats

    async def register(
        self,
        broker: BrokerImage,
        cluster_id: str,
        *,
        fenced: bool = True,
        previous_epoch: Epoch = NO_EPOCH,
    ) -> Epoch:
        """Returns the broker epoch; KafkaError if the broker must not join."""
        self.check_active()
        await self._create_cluster()
        known = self._metadata.image.cluster_id
        if cluster_id and cluster_id != known:
            raise KafkaError(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f"Expected cluster ID {known}, but got cluster ID {cluster_id}",
            )
        before = self._metadata.image.brokers.get(broker.id)
        # A log dir has one owner at a time: a process that has one of its log dirs proves that the old one is
        # gone. And this process is always its own successor.
        is_successor = broker.id == self._metadata.node_id or (
            before is not None and not set(before.directories).isdisjoint(broker.directories)
        )
        session_alive = self._sessions.is_alive(broker.id, self._clock.monotonic()) and not is_successor
        [epoch] = await self._metadata.change(
            lambda image: decide_register_broker(
                image,
                broker_id=broker.id,
                epoch=self._metadata.version + 1,
                incarnation=broker.incarnation,
                endpoints=tuple(broker.endpoints.values()),
                rack=broker.rack,
                machine=broker.machine,
                directories=broker.directories,
                features=broker.features,
                fenced=fenced,
                ended=how_it_ended(image.brokers.get(broker.id), previous_epoch),
                session_alive=session_alive,
                config=self._metadata.config,
            )
        )
        self._sessions.touch(broker.id, epoch, self._clock.monotonic())
        return epoch

    async def heartbeat(self, beat: Heartbeat) -> HeartbeatResult:
        """Handles the state that the broker asks for, and returns the state that it has now."""
        self.check_active()
        image, id = self._metadata.image, beat.broker_id
        broker = check_broker_epoch(image, id, beat.broker_epoch)
        self._sessions.touch(id, beat.broker_epoch, self._clock.monotonic(), beat.metadata_offset)
        is_quiet = not (beat.wants_fence or beat.wants_shutdown or beat.offline_directories)
        if is_quiet and broker.is_active:
            return HeartbeatResult(beat.metadata_offset >= broker.epoch, False)
        before = self._metadata.version
        [answer] = await self._metadata.change(
            lambda now: decide_heartbeat(
                now,
                beat,
                others_know=self._sessions.others_know(id, now),
                votes=self._metadata.quorum.raft.configuration.find(id) is not None,
                config=self._metadata.config,
            )
        )
        if broker.shutting_down or beat.wants_shutdown:
            if self._metadata.version != before:
                self._sessions.handed_over(id, self._metadata.version)
            if answer.should_shut_down:
                self._sessions.forget(id)
        return answer

    # Periodic work

    async def _run(self) -> None:
        checked_leaders = checked_tokens = self._clock.monotonic()
        while True:
            config = self._metadata.config
            try:
                await self._create_cluster()
                await self._fence_expired()
                if self._look_for_leaders:
                    self._look_for_leaders = False
                    await self._metadata.change(partial(decide_missing_leaders, config=config))
                now = self._clock.monotonic()
                if config.bool("auto.leader.rebalance.enable") and now - checked_leaders >= config.int(
                    "leader.imbalance.check.interval.seconds"
                ):
                    checked_leaders = now
                    percent = config.int("leader.imbalance.per.broker.percentage")
                    await self._metadata.change(
                        partial(decide_preferred_leaders, imbalance_percent=percent, config=config)
                    )
                if self._metadata.image.security.tokens and (now - checked_tokens) * 1000 >= config.int(
                    "delegation.token.expiry.check.interval.ms"
                ):
                    checked_tokens = now
                    await self._metadata.change(
                        lambda image: decide_forget_expired(image, self._clock.now_ms())
                    )
            except KafkaError as error:
                log.warning("the periodic work of the controller failed: %s", error.message)
            except Exception:
                log.exception("the periodic work of the controller failed; trying again")
            await asyncio.sleep(min(WATCH_SECONDS_MAX, config.int("broker.session.timeout.ms") / 8000))

    async def _create_cluster(self) -> None:
        if not self._metadata.image.cluster_id:
            wanted = self._cluster_id or uuid_text(uuid_from_random(self._random.bytes(16)))
            await self._metadata.change(
                partial(
                    decide_new_cluster,
                    cluster_id=wanted,
                    config=self._metadata.config,
                    bootstrap=self._bootstrap,
                )
            )
        if METADATA_VERSION not in self._metadata.image.features:  # also for a cluster of an early version
            await self._metadata.change(partial(decide_default_features, config=self._metadata.config))

    async def _fence_expired(self) -> None:
        for broker_id in self._sessions.expired(self._clock.monotonic()):
            broker = self._metadata.image.brokers.get(broker_id)
            if broker is not None and not broker.fenced:
                timeout_ms = self._metadata.config.int("broker.session.timeout.ms")
                log.warning("broker %d sent no heartbeat for %d ms: fencing it", broker_id, timeout_ms)
                await self._metadata.change(partial(self._fenced, broker_id))
            if not self._is_alive(broker_id):  # only now: a change that could not be written is retried
                self._sessions.forget(broker_id)

    def _fenced(self, broker_id: NodeId, image: ClusterImage) -> Decision[None]:
        if broker_id not in image.brokers or self._is_alive(broker_id):
            return Decision([], [None])  # removed, or alive again, while earlier changes were written
        return decide_fence_broker(image, broker_id, self._metadata.config)

    def _is_alive(self, broker_id: NodeId) -> bool:
        return self._sessions.is_alive(broker_id, self._clock.monotonic())

    def on_change(self, delta: ImageDelta) -> None:
        """A topic may now allow unclean elections."""
        if delta.configs_changed:
            self._look_for_leaders = True

    def _new_sessions(self) -> BrokerSessions:
        return BrokerSessions(self._metadata.config.int("broker.session.timeout.ms") / 1000)
