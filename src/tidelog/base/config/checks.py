"""Rules between settings: problems that refuse a configuration, warnings that say what will happen."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tidelog.base.broker_settings import BROKER_SYNONYMS
from tidelog.base.config.error import Problem
from tidelog.base.config.values import ConfigValues
from tidelog.base.cordons import CORDONED_LOG_DIRS
from tidelog.base.group_settings import GROUP_LIMITS, GROUP_SETTINGS, GROUP_TIMINGS, Limits
from tidelog.base.listener import parse_listener
from tidelog.base.listener_settings import name_for, split_name
from tidelog.base.log_dir_encryption import ALL_LOG_DIRS, KEY_HOLDERS
from tidelog.base.security_protocol import protocols_of

if TYPE_CHECKING:
    from tidelog.base.config.broker_config import BrokerConfig

_PEER_FRAME_MIN = 40 * 1024 * 1024
_DEDUPE_BYTES_PER_THREAD_MIN = 1024 * 1024


def find_problems(config: ConfigValues) -> list[Problem]:
    return [
        *_listeners(config),
        *_cluster(config),
        *_memory(config),
        *_compaction(config),
        *_groups(config),
        *_encryption(config),
    ]


def find_prefix_problems(names: Iterable[str], listeners: Iterable[str]) -> list[Problem]:
    """A static setting for a listener that does not exist is a typo, with a door left open behind it."""
    known = [listener.lower() for listener in listeners]
    return [
        Problem(name, f"listeners has no {parts.listener.upper()}, only {', '.join(known).upper()}")
        for name in names
        if (parts := split_name(name)) is not None and parts.listener not in known
    ]


def find_topic_problems(topic: ConfigValues) -> list[Problem]:
    least, most = topic.int("min.compaction.lag.ms"), topic.int("max.compaction.lag.ms")
    if least > most:
        return [Problem("min.compaction.lag.ms", f"{least} is above max.compaction.lag.ms, which is {most}")]
    return []


def find_warnings(config: "BrokerConfig") -> Iterator[str]:
    replicas, in_sync = config.int("default.replication.factor"), config.int("min.insync.replicas")
    if in_sync > replicas:
        yield (
            f"min.insync.replicas is {in_sync} and default.replication.factor {replicas}: "
            "a topic with these defaults requires only as many in-sync replicas as it has"
        )
    batch, segment = config.int("message.max.bytes"), config.int("log.segment.bytes")
    if batch > segment:
        yield f"message.max.bytes is {batch}, but a batch must fit a segment: log.segment.bytes is {segment}"
    request = config.int("socket.request.max.bytes")
    if batch > request:
        yield f"message.max.bytes is {batch}, but socket.request.max.bytes limits a request to {request}"
    yield from _ineffective_client_auth(config)
    if config.is_given(CORDONED_LOG_DIRS):
        yield f"{CORDONED_LOG_DIRS} has no effect here; cordon a broker with: tidelog cluster drain BROKER"
    for chain in BROKER_SYNONYMS.values():
        given = [name for name in chain if config.is_given(name)]
        for hidden in given[1:]:
            yield f"{hidden} has no effect, since {given[0]} is set too"


def _ineffective_client_auth(config: "BrokerConfig") -> Iterator[str]:
    """Kafka has the same rule, and the same warning."""
    wanted = config.text("ssl.client.auth")
    for name, protocol in config.security_protocols().items():
        own = name_for("ssl.client.auth", name)
        if wanted != "none" and protocol.is_sasl and protocol.is_tls and own not in config:
            yield f"ssl.client.auth={wanted} does not count for the SASL_SSL listener {name}; set {own}"


def _cluster(config: ConfigValues) -> Iterator[Problem]:
    if config.list("controller.quorum.voters") and config.int("socket.request.max.bytes") < _PEER_FRAME_MIN:
        yield Problem(
            "socket.request.max.bytes",
            f"brokers of a cluster send each other up to {_PEER_FRAME_MIN} bytes at once; set at least that",
        )
    name, protocol = config["inter.broker.listener.name"], config["security.inter.broker.protocol"]
    names = [parse_listener(text).name for text in config.list("listeners")]
    if name is not None and protocol is not None:
        yield Problem(
            "security.inter.broker.protocol", "inter.broker.listener.name is set too; keep one of the two"
        )
    elif name is not None and str(name).upper() not in names:
        yield Problem("inter.broker.listener.name", f"listeners has no {name}, only {', '.join(names)}")
    elif protocol is not None and protocol not in names:
        yield Problem(
            "security.inter.broker.protocol",
            f"no listener is named {protocol}; set inter.broker.listener.name to one of {', '.join(names)}",
        )


def _listeners(config: ConfigValues) -> Iterator[Problem]:
    listeners = [parse_listener(text) for text in config.list("listeners")]
    advertised = [parse_listener(text) for text in config.list("advertised.listeners")]
    names = {listener.name for listener in listeners}
    advertised_names = {listener.name for listener in advertised}
    try:
        protocols_of([listener.name for listener in listeners], config.list("listener.security.protocol.map"))
    except ValueError as error:
        yield Problem("listener.security.protocol.map", str(error))
    for listener in advertised:
        if listener.name not in names:
            known = ", ".join(sorted(names))
            yield Problem("advertised.listeners", f"listeners has no {listener.name}, only {known}")
    for listener in listeners:
        if listener.is_every_interface and listener.name not in advertised_names:
            yield Problem(
                "listeners",
                f"{listener} listens on every interface, so clients need an address; "
                f"add advertised.listeners, such as {listener.name}://this-host:{listener.port}",
            )


def _memory(config: ConfigValues) -> Iterator[Problem]:
    total, one = config.int("queued.max.request.bytes"), config.int("socket.request.max.bytes")
    if 0 <= total < one:
        yield Problem(
            "queued.max.request.bytes",
            f"{total} is less than the maximum size of a request, socket.request.max.bytes, which is {one}",
        )
    threads, buffer = config.int("log.cleaner.threads"), config.int("log.cleaner.dedupe.buffer.size")
    if buffer < threads * _DEDUPE_BYTES_PER_THREAD_MIN:
        yield Problem(
            "log.cleaner.dedupe.buffer.size",
            f"{buffer} is less than 1 MiB for each of the {threads} threads of log.cleaner.threads",
        )


def _encryption(config: ConfigValues) -> Iterator[Problem]:
    name = "log.dirs.encryption"
    encrypted, log_dirs = config.list(name), config.list("log.dirs")
    unknown = [path for path in encrypted if path not in (ALL_LOG_DIRS, *log_dirs)]
    if unknown:
        yield Problem(name, f"log.dirs has no {', '.join(unknown)}, only {', '.join(log_dirs)}")
    given = [holder for holder in KEY_HOLDERS if config[holder]]
    if encrypted and len(given) != 1:
        found = " and ".join(given) or "none of them"
        yield Problem(name, f"the keys come from one of {', '.join(KEY_HOLDERS)}; {found} is set")


def _compaction(config: ConfigValues) -> Iterator[Problem]:
    name = "log.cleaner.min.compaction.lag.ms"
    least, most = config.int(name), config.int("log.cleaner.max.compaction.lag.ms")
    if least > most:
        yield Problem(name, f"{least} is above log.cleaner.max.compaction.lag.ms, which is {most}")


def _groups(config: ConfigValues) -> Iterator[Problem]:
    name = "group.min.session.timeout.ms"
    least, most = config.int(name), config.int("group.max.session.timeout.ms")
    if least > most:
        yield Problem(name, f"{least} is above group.max.session.timeout.ms, which is {most}")
    for own, limits in GROUP_LIMITS.items():
        yield from _within(config, GROUP_SETTINGS[own].broker_synonyms[0], limits)
    for timing in GROUP_TIMINGS:
        if not GROUP_SETTINGS[timing.session].broker_synonyms:
            continue
        session, heartbeat = (GROUP_SETTINGS[name].broker_synonyms[0] for name in timing)
        if config.int(session) <= config.int(heartbeat):
            yield Problem(session, f"{config.int(session)} is not above {heartbeat}, {config.int(heartbeat)}")


def _within(config: ConfigValues, name: str, limits: Limits) -> Iterator[Problem]:
    """The default for groups must lie within the limits for groups."""
    value = config.int(name)
    if limits.least is not None and value < config.int(limits.least):
        least = config.int(limits.least)
        yield Problem(name, f"{value} is below {limits.least}, which is {least}; lower that one too")
    if limits.most is not None and value > config.int(limits.most):
        most = config.int(limits.most)
        yield Problem(name, f"{value} is above {limits.most}, which is {most}; raise that one too")
