"""Frames for fuzzing: requests of one API and version that are random, nearly right, or damaged.

Nearly right ones name topics, groups, members and transactions that exist, and have sensible numbers but for
a few: they get past the first checks, to where odd values do harm.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tests.faults.group_calls import join, sync, wait_for_coordinator
from tests.faults.log_calls import batch, create_topic, produce
from tests.faults.raw_client import RawClient, request_bytes, versions
from tests.faults.share_calls import join_shares
from tests.rigs.random_messages import NumberChoice, any_number, random_message
from tidelog.base.ids import uuid_text
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.schema import Field

TOPICS = ("fuzz-a", "fuzz-b")
GROUP, TRANSACTION = "fuzz-group", "fuzz-transaction"
SHARE_GROUP, SHARE_MEMBER = "fuzz-shares", "fuzz-worker"
WAITS = {"max_wait_ms", "timeout_ms", "rebalance_timeout_ms", "session_timeout_ms"}
# These tell how long they may wait in bytes that are therefore left alone: a wait is no fault.
FIRST_DAMAGED = {ApiKey.FETCH: 32, ApiKey.SHARE_FETCH: 60}
ODD_SHARES = (0.03, 0.1, 0.3)
"""Of the numbers in a request that is nearly right."""


class Target:
    """What exists on the broker under attack."""

    def __init__(self, client: RawClient) -> None:
        ids = [create_topic(client, name, 2) for name in TOPICS]
        wait_for_coordinator(client, GROUP)
        member = join(client, GROUP, version=3).member_id
        sync(client, GROUP, member, 1)
        client.ask(
            ApiKey.FIND_COORDINATOR, FindCoordinatorRequest(key_type=1, coordinator_keys=[TRANSACTION])
        )
        producer = client.ask(
            ApiKey.INIT_PRODUCER_ID,
            InitProducerIdRequest(transactional_id=TRANSACTION, transaction_timeout_ms=60_000),
        )
        for name in TOPICS:
            produce(client, name, batch(b"a", b"b", b"c"))
            join_shares(client, SHARE_GROUP, SHARE_MEMBER, name)
        state = f"{SHARE_GROUP}:{uuid_text(ids[0])}:0"
        self._real: dict[str, Sequence[Any]] = {
            **dict.fromkeys(("name", "topic", "topic_name", "resource_name"), TOPICS),
            "topics": TOPICS,
            "topic_id": ids,
            "topic_ids": ids,
            **dict.fromkeys(("index", "partition", "partition_index"), (0, 1)),
            **dict.fromkeys(("partitions", "partition_indexes"), (0, 1)),
            **dict.fromkeys(("key", "coordinator_keys"), (GROUP, TRANSACTION, state)),
            "key_type": [0, 1, 2],
            "subscribed_topic_names": TOPICS,
            "share_session_epoch": [0, 1, 2, 3, -1],
            **dict.fromkeys(("first_offset", "last_offset"), (0, 1, 2)),
            "acknowledge_types": [1, 2, 3, 4],
            **dict.fromkeys(("max_records", "max_bytes", "batch_size"), (1, 100_000)),
            **dict.fromkeys(("state_epoch", "delivery_state"), (0, 1, 2)),
            "group_instance_id": [None],
            "protocol_type": ["consumer"],
            "protocol_name": ["range"],
            **dict.fromkeys(("transactional_id", "transactional_ids"), (TRANSACTION,)),
            **dict.fromkeys(("producer_id", "producer_ids"), (producer.producer_id,)),
            "producer_epoch": [producer.producer_epoch],
            **dict.fromkeys(("replica_id", "leader_epoch", "current_leader_epoch"), (-1,)),
            **dict.fromkeys(("broker_id", "node_id", "replicas", "broker_ids"), (1,)),
            "resource_type": [2, 4, 8, 32],
            "acks": [-1, 1],
        }
        self._roles = [
            _role(GROUP, member, 1),
            _role(GROUP, member, 0),
            _role("fuzz-no-members", "", -1),
            _role(SHARE_GROUP, SHARE_MEMBER, 0),
            _role(SHARE_GROUP, SHARE_MEMBER, -1),
        ]

    def aim(self, message: Any, rng: random.Random, chance: float) -> None:
        """Put what is real into some of its places, and whole batches."""
        self._aim(message, self._real | rng.choice(self._roles), rng, chance)

    def _aim(self, message: Any, real: dict[str, Sequence[Any]], rng: random.Random, chance: float) -> None:
        for name in message.__struct_fields__:
            value = getattr(message, name)
            if isinstance(value, msgspec.Struct):
                self._aim(value, real, rng, chance)
            elif isinstance(value, list) and value and isinstance(value[0], msgspec.Struct):
                for item in value:
                    self._aim(item, real, rng, chance)
            elif rng.random() >= chance:
                continue
            elif name == "records":
                message.records = batch(rng.randbytes(20), b"two", codec=rng.randrange(5))
            elif isinstance(value, list):
                fitting = [each for each in real.get(name, ()) if value and type(each) is type(value[0])]
                if fitting:
                    setattr(message, name, fitting[: len(value)])
            elif name in real:
                chosen = rng.choice(real[name])
                if value is not None and (chosen is None or type(chosen) is type(value)):
                    setattr(message, name, chosen)


def _role(group: str, member: str, generation: int) -> dict[str, Sequence[Any]]:
    """Who asks: a member of a group, one that joins, or somebody without a group who commits offsets."""
    return {
        **dict.fromkeys(("group_id", "group_ids", "groups", "groups_names"), (group,)),
        "member_id": [member],
        **dict.fromkeys(("generation_id", "generation_id_or_member_epoch", "member_epoch"), (generation,)),
    }


def frames(key: ApiKey, target: Target, rng: random.Random, each: int) -> Iterator[bytes]:
    """Of every version: `each` random ones, as many that are nearly right, and as many damaged."""
    for version in versions(key):
        for number in range(3 * each):
            nearly_right = number % 3 > 0
            choice = _sensible(rng.choice(ODD_SHARES)) if nearly_right else _short_waits
            message = random_message(API[key].request_class(), version, rng, number=choice)
            target.aim(message, rng, 0.9 if nearly_right else 0.5)
            frame = bytearray(request_bytes(key, version, message))
            if number % 3 == 2:
                _damage(frame, FIRST_DAMAGED.get(key, 14), rng)
            yield bytes(frame)


def _short_waits(field: Field, rng: random.Random) -> int | float:
    return rng.choice((-1, 0, 5, -(2**31))) if field.name in WAITS else any_number(field, rng)


def _sensible(odd: float) -> NumberChoice:
    def choose(field: Field, rng: random.Random) -> int | float:
        if field.name in WAITS:
            return 5
        return any_number(field, rng) if rng.random() < odd else rng.choice((0, 1))

    return choose


def _damage(frame: bytearray, first: int, rng: random.Random) -> None:
    """In its body: what lies in front is the business of other tests. The size still fits."""
    at = rng.randrange(min(first, len(frame) - 1), len(frame))
    match rng.randrange(3):
        case 0:
            for _ in range(rng.randint(1, 4)):
                frame[rng.randrange(min(at, len(frame) - 1), len(frame))] ^= 1 << rng.randrange(8)
        case 1:
            del frame[at:]
        case 2:
            frame[at:at] = rng.randbytes(rng.randint(1, 8))
    frame[:4] = (len(frame) - 4).to_bytes(4, "big")
