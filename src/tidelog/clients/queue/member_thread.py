"""The thread that is the member of the share group: heartbeats, assigned partitions, and their leaders.

Until the first contact every failure is the application's to know. Later an outage passes: the member comes
back by itself, and only a refusal that stays ends the queue.
"""

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelog.base.errors import KafkaError
from tidelog.blocking.cluster import GROUP, Cluster
from tidelog.blocking.errors import BrokersUnreachable, Disconnected, GaveUp, NoBroker
from tidelog.blocking.settings import ClusterSettings
from tidelog.clients.connection import find_mismatch
from tidelog.clients.log import LOG
from tidelog.clients.options import OffsetResetPolicy
from tidelog.clients.queue.failures import protocol_of, unknown_topic
from tidelog.clients.queue.group_start import set_group_start
from tidelog.clients.queue.outage import Outage

if TYPE_CHECKING:
    from tidelog.clients.queue.engine import QueueEngine

CALL_S = 5.0
"""A member that waits longer for an answer asks another broker, and notices the end of the queue late."""
PAUSE_S = 0.1
TOPIC_MISSING_S = 2.0
"""A topic that was just created is not known to every broker yet."""
METADATA_AGE_S = 300.0


class MemberThread:
    def __init__(self, engine: "QueueEngine") -> None:
        self._engine = engine
        self._settings = _hurried(engine.settings)
        self._wake = threading.Condition(engine.lock)
        self._refreshed_at = 0.0
        self._missing_since: float | None = None
        self._outage = Outage(engine.core.membership.group_id)
        self.thread = threading.Thread(target=self._run, name=f"{engine.config.client_id}-queue", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def notify(self) -> None:
        """Under the lock."""
        self._wake.notify()

    def wake(self) -> None:
        with self._engine.lock:
            self._wake.notify()

    def _run(self) -> None:
        engine = self._engine
        try:
            with Cluster(self._settings) as cluster:
                self._first_contact(cluster)
                self._begin(cluster)
                while not engine.core.is_closing:
                    self._turn(cluster)
                    self._pause()
                engine.end_brokers(2 * CALL_S)
                self._leave(cluster)
        except Exception as error:
            engine.fail(error)

    # Beginning

    def _first_contact(self, cluster: Cluster) -> None:
        limits = self._engine.settings.limits
        deadline = time.monotonic() + limits.total_s
        is_first = True
        while not self._engine.core.is_closing:
            try:
                cluster.nodes()
                return
            except NoBroker as error:
                servers = ",".join(self._settings.servers)
                if is_first and (found := find_mismatch(servers, protocol_of(self._settings))) is not None:
                    raise found.as_error() from error
                if time.monotonic() >= deadline:
                    raise
            is_first = False
            time.sleep(PAUSE_S)

    def _begin(self, cluster: Cluster) -> None:
        config, membership = self._engine.config, self._engine.core.membership
        start = config.auto_offset_reset
        if isinstance(start, OffsetResetPolicy):
            set_group_start(cluster, membership.group_id, start.value)

    # At work

    def _turn(self, cluster: Cluster) -> None:
        engine, membership = self._engine, self._engine.core.membership
        now = time.monotonic()
        try:
            if self._is_refresh_due(now):
                self._refresh(cluster, now)
            if now >= membership.next_heartbeat and self._missing_since is None:
                self._heartbeat(cluster)
        except (Disconnected, BrokersUnreachable, GaveUp, KafkaError) as error:
            if isinstance(error, KafkaError) and not error.code.retriable:
                raise
            LOG.info("group %s: %s", membership.group_id, error)
            if (warning := self._outage.failed(error, time.monotonic())) is not None:
                LOG.warning("%s", warning)
            cluster.forget_coordinator(GROUP, membership.group_id)
            with engine.lock:
                membership.failed(time.monotonic())

    def _is_refresh_due(self, now: float) -> bool:
        age_s = now - self._refreshed_at
        wants = self._engine.core.answers.wants_metadata or self._missing_since is not None
        return not self._refreshed_at or age_s >= METADATA_AGE_S or (wants and age_s >= PAUSE_S)

    def _refresh(self, cluster: Cluster, now: float) -> None:
        engine = self._engine
        name = engine.topic
        topic = cluster.topics([name]).get(name)
        self._refreshed_at = now
        if topic is None:
            if self._missing_since is None:
                self._missing_since = now
            if now - self._missing_since >= TOPIC_MISSING_S:
                raise unknown_topic(name)
            return
        self._missing_since = None
        with engine.lock:
            engine.addresses = cluster.addresses
            engine.core.lead(topic.id, topic.leaders)
            engine.begin_threads()
            engine.answered()

    def _heartbeat(self, cluster: Cluster) -> None:
        engine, core = self._engine, self._engine.core
        group_id = core.membership.group_id
        with engine.lock:
            request = core.membership.heartbeat()
        node = cluster.coordinator(GROUP, group_id)
        answer = cluster.call_node(node, request, timeout_s=CALL_S)
        if (ended := self._outage.passed()) is not None:
            LOG.warning("%s", ended)
        with engine.lock:
            if core.membership.answered(answer, time.monotonic()):
                cluster.forget_coordinator(GROUP, group_id)
            core.distribute()
            engine.begin_threads()
            engine.answered()

    def _pause(self) -> None:
        engine = self._engine
        with engine.lock:
            now = time.monotonic()
            wait_s = engine.core.membership.next_heartbeat - now
            if engine.core.answers.wants_metadata or self._missing_since is not None:
                wait_s = min(wait_s, PAUSE_S) if self._missing_since is None else PAUSE_S
            if wait_s > 0 and not engine.core.is_closing:
                self._wake.wait(wait_s)

    # Ending

    def _leave(self, cluster: Cluster) -> None:
        membership = self._engine.core.membership
        if not membership.is_joined:
            return
        try:
            node = cluster.coordinator(GROUP, membership.group_id)
            cluster.call_node(node, membership.leaving(), timeout_s=CALL_S)
        except (Disconnected, BrokersUnreachable, GaveUp, KafkaError) as error:
            LOG.info("group %s: the member did not leave: %s", membership.group_id, error)


def _hurried(settings: ClusterSettings) -> ClusterSettings:
    limits = settings.limits
    return replace(
        settings,
        limits=replace(
            limits,
            connect_s=min(limits.connect_s, CALL_S),
            request_s=min(limits.request_s, CALL_S),
            total_s=min(limits.total_s, CALL_S),
        ),
    )
