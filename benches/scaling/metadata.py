"""What more brokers cost in the metadata: the image, Metadata answers, and the controller's decisions.

All of it in one process, so that 192 brokers need no 192 processes: 12 machines of 16 cores, or 3 of 64.
"""

import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from benches.rig.report import show
from tidelog.base.ids import uuid_text
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.handlers.topics import metadata
from tidelog.broker.requests.context import Context
from tidelog.metadata.brokers.brokers import decide_controlled_shutdown, decide_fence_broker
from tidelog.metadata.brokers.heartbeats import Heartbeat, decide_heartbeat
from tidelog.metadata.image.entities import Endpoint
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import BrokerRegistered, ClusterCreated
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import write_response
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

CLUSTERS = ((3, 1), (3, 16), (12, 16))
"""Machines, and cores of each."""
TOPICS, PARTITIONS, REPLICAS = 100, 100, 3
ROUNDS = 5
VERSION = 12
LISTENER = "PLAINTEXT"


def main() -> None:
    for machines, cores in CLUSTERS:
        tracemalloc.start()
        alone = brokers_alone(machines, cores)
        held = tracemalloc.get_traced_memory()[0]
        image = with_topics(alone)
        held_in_all = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        name = f"{machines * cores} brokers, {TOPICS * PARTITIONS:,} partitions"
        show(f"{name}: memory of the image", held_in_all / 1e6, "MB")
        show(f"{name}: of a broker in it", held / machines / cores / 1e3, "kB")
        show(f"{name}: to place and create all", best(partial(with_topics, alone)) * 1e3, "ms")
        show_costs(name, image)


def show_costs(name: str, image: ClusterImage) -> None:
    every, one = MetadataRequest(topics=None), MetadataRequest(topics=[MetadataRequestTopic(name="t-0")])
    for what, request in (("all topics", every), (f"a topic of {PARTITIONS}", one)):
        show(f"{name}: Metadata of {what}", len(answer(image, request)) / 1e3, "kB")
        show(f"{name}: Metadata of {what}: CPU", best(partial(answer, image, request)) * 1e3, "ms")
    id = min(image.brokers)
    beat = Heartbeat(id, image.brokers[id].epoch, 1 << 40)
    show(f"{name}: a heartbeat", best(lambda: decide_heartbeat(image, beat, others_know=True)) * 1e6, "us")
    show(
        f"{name}: fence a broker",
        best(lambda: advance(image, decide_fence_broker(image, id).records)) * 1e3,
        "ms",
    )
    show(
        f"{name}: let one stop",
        best(lambda: advance(image, decide_controlled_shutdown(image, id).records)) * 1e3,
        "ms",
    )


def brokers_alone(machines: int, cores: int) -> ClusterImage:
    records = [
        BrokerRegistered(
            machine + 1000 * core,
            machine + 1000 * core,
            uuid_text(_numbered(machine * 1000 + core)),
            (Endpoint(LISTENER, f"host-{machine}.example.org", 9092 + core),),
            directories=(uuid_text(_numbered(1_000_000 + machine * 1000 + core)),),
            machine=str(machine),
        )
        for machine in range(1, machines + 1)
        for core in range(cores)
    ]
    image = advance(ClusterImage(), [ClusterCreated("bench")]).after
    return advance(image, records).after


def with_topics(image: ClusterImage) -> ClusterImage:
    ids = iter(range(1, TOPICS + 1))
    wanted = [NewTopic(f"t-{number}", PARTITIONS, REPLICAS) for number in range(TOPICS)]
    made = decide_create_topics(image, wanted, defaults=TopicDefaults(), new_id=lambda: _numbered(next(ids)))
    return advance(image, made.records).after


class _Known:
    """The metadata of a broker without its log: what the handler asks it."""

    reachable_brokers = MetadataService.reachable_brokers
    live_broker_ids = MetadataService.live_broker_ids
    controller_for_clients = 1

    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self._live: tuple[object, frozenset[int]] = None, frozenset()


def answer(image: ClusterImage, request: MetadataRequest) -> bytes:
    context = SimpleNamespace(
        services=SimpleNamespace(metadata=_Known(image)),
        connection=SimpleNamespace(listener=LISTENER),
        version=VERSION,
        sees_topics=None,
        allows=lambda *_: True,
    )
    request.allow_auto_topic_creation = False
    found = cast(Any, metadata.handle(cast(Context, context), request))
    return b"".join(bytes(part) for part in write_response(ApiKey.METADATA, VERSION, 1, found))  # type: ignore[arg-type]


def best(work: Callable[[], object]) -> float:
    """CPU seconds."""
    spent = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def _numbered(number: int) -> bytes:
    return number.to_bytes(16, "big")
