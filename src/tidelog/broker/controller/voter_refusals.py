"""Asks the other voters, while a broker waits for them, whether they take it for a broker.

Raft's messages have no response. A broker whose principal may not act as one would wait without a reason: its
messages are thrown away. A heartbeat of a broker that is not registered changes nothing, and is answered.
"""

import asyncio
import logging
from collections.abc import Iterable

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NO_EPOCH
from tidelog.broker.peers.peers import QUORUM, Peers
from tidelog.raft.entries import Voter
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.broker_heartbeat import BrokerHeartbeatRequest

HEARTBEAT_VERSION = 1
ANSWER_SECONDS = 3.0

log = logging.getLogger("tidelog.broker.quorum")


async def log_refusals(peers: Peers, voters: Iterable[Voter]) -> None:
    """Log an error if a voter refuses this broker."""
    others = [voter for voter in voters if voter.id != peers.node_id]
    refused = await asyncio.gather(*(_is_refused(peers, voter) for voter in others))
    refusing = [
        f"{voter.id}@{voter.address}" for voter, is_refused in zip(others, refused, strict=True) if is_refused
    ]
    if refusing:
        log.error(
            "refused as a broker by %s: this broker's principal lacks CLUSTER_ACTION on the cluster. Name "
            "it in super.users of all brokers; the logs of those that refuse it say which principal it is",
            ", ".join(refusing),
        )


async def _is_refused(peers: Peers, voter: Voter) -> bool:
    request = BrokerHeartbeatRequest(
        broker_id=peers.node_id, broker_epoch=NO_EPOCH, current_metadata_offset=-1
    )
    try:
        answer = await peers.call(
            voter.id, ApiKey.BROKER_HEARTBEAT, HEARTBEAT_VERSION, request, timeout=ANSWER_SECONDS, lane=QUORUM
        )
    except OSError:  # it is not there, or not ready
        return False
    return bool(answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
