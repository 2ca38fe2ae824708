"""Opens the audit record that the settings ask for: its file, its topic, and the handlers it watches."""

from contextlib import AsyncExitStack
from functools import partial

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import TidelogError
from tidelog.broker.coordinators.internal_topics import AS_THE_CLUSTER, InternalTopics, StateTopic
from tidelog.broker.requests.audited import audited
from tidelog.broker.requests.context import Services
from tidelog.broker.requests.produce_shortcut import ProduceShortcut
from tidelog.broker.requests.routes import Routes, WatchResponses
from tidelog.broker.security.audit.audit import Audit, AuditSink
from tidelog.broker.security.audit.audit_file import AuditFile
from tidelog.broker.security.audit.audit_topic import AuditTopic
from tidelog.security.audit.event import AuditKind, dropped_line
from tidelog.wire.apis import ApiKey

TOPIC = StateTopic(
    partitions=3,
    replication_factor=AS_THE_CLUSTER,
    configs=lambda _: {"cleanup.policy": "delete", "compression.type": "zstd"},
)


def open_audit(opened: AsyncExitStack, services: Services, config: BrokerConfig) -> Audit:
    """Raises TidelogError where the file cannot be written: a broker that must keep a record does not start
    without it."""
    node_id, clock = services.metadata.node_id, services.clock

    def line_of_dropped(count: int) -> bytes:
        return dropped_line(count, clock.now_ms(), node_id)

    sinks: list[AuditSink] = []
    if path := config.optional_text("audit.file"):
        try:
            file = AuditFile(
                path,
                bytes_max=config.int("audit.file.max.bytes"),
                count=config.int("audit.file.count"),
                run_in_thread=services.run_in_thread,
                line_of_dropped=line_of_dropped,
            )
        except OSError as error:
            raise TidelogError(
                f"the audit file {path} cannot be opened: {error.strerror}; make its directory, and let the "
                "broker's user write there, or change audit.file"
            ) from error
        sinks.append(file)
        opened.push_async_callback(file.close)
    if name := config.optional_text("audit.topic"):
        topics = InternalTopics(services.metadata, services.forwarding)
        create = partial(topics.create, topic=TOPIC)
        sinks.append(
            AuditTopic(
                name,
                services.metadata,
                services.peers,
                clock,
                create=create,
                line_of_dropped=line_of_dropped,
            )
        )
    return Audit((AuditKind(name) for name in config.list("audit.events")), sinks, clock, node_id)


def audited_routes(
    audit: Audit, shortcut: ProduceShortcut, watch_responses: WatchResponses | None = None
) -> Routes:
    """Where writes are recorded, none may take a way around its handler."""
    fast_paths = {ApiKey.PRODUCE: shortcut}
    return Routes(
        {} if audit.wants(AuditKind.WROTE) else fast_paths, partial(audited, audit), watch_responses
    )
