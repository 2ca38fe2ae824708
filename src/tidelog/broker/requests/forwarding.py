"""Requests that only the controller may answer: any broker takes them and passes them on as they came.

The response names the metadata version that it is based on, and this broker waits until it has applied that
version: a client that created a topic finds it here with its next request.
"""

import asyncio
import logging
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Uuid
from tidelog.base.ports import FileSlice
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.peers.peers import Peers, PeerUnavailable
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.forwarded_once import ForwardNumbers
from tidelog.broker.requests.tries import Tries
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message
from tidelog.wire.messages.forward import ForwardRequest, ForwardResponse

FORWARDED = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.CAN_STOP_BROKER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_ROLES,
    }
)
BETWEEN_BROKERS = frozenset(
    {
        ApiKey.RAFT,
        ApiKey.FORWARD,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALTER_PARTITION,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.SHARE_START_OFFSETS,
        ApiKey.REGISTRY_CALL,
    }
)
"""Not advertised to clients; served from the start, since a broker needs them to join its cluster."""

SHARE_STATE = frozenset(
    {
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    }
)
"""Advertised, as Kafka does, and sent by brokers alone."""

FORWARD_SECONDS = 30.0
FORWARD_SECONDS_MAX = 600.0
FOLLOW_SECONDS = 5.0
SIZE_BYTES = 4

log = logging.getLogger("tidelog.broker.forwarding")


def is_refused_as_controller(answer: Message, *, is_whole: bool = True) -> bool:
    """Returns whether any part of the response says NOT_CONTROLLER, so that the next controller is asked.

    A part with an error code of its own stands for all of itself: a topic's dozens of settings are skipped.
    """
    code = getattr(answer, "error_code", None)
    if code == ErrorCode.NOT_CONTROLLER:
        return True
    if code is not None and not is_whole:
        return False
    values = (getattr(answer, field) for field in answer.__struct_fields__)
    return any(
        is_refused_as_controller(item, is_whole=False)
        for value in values
        if isinstance(value, list)
        for item in value
        if isinstance(item, Message)
    )


class Forwarding:
    def __init__(self, metadata: MetadataService, peers: Peers, incarnation: Uuid) -> None:
        self._metadata = metadata
        self._peers = peers
        self._incarnation = incarnation
        self._numbers = ForwardNumbers()
        self._under_way: dict[asyncio.Timeout, None] = {}
        self._following: dict[asyncio.Timeout, None] = {}
        self._is_leaving = False
        self._is_closed = False

    def leave(self) -> None:
        """This broker applies no more metadata: respond without waiting for it."""
        self._is_leaving = True
        for limit in self._following:
            if not limit.expired():
                limit.reschedule(0)

    def close(self) -> None:
        """Stop waiting for controllers: this broker stops, and its clients are gone."""
        self._is_closed = True
        for limit in self._under_way:
            if not limit.expired():
                limit.reschedule(0)

    async def pass_on(
        self,
        frame: bytes,
        connection: ClientConnection,
        tries: Tries | None = None,
        seconds: float = FORWARD_SECONDS,
    ) -> bytes:
        """Send a client's frame, without its size, to the controller; returns its response in the same form.

        It may be tried several times, under one number. Raises OSError if no controller responds in time. The
        request may have been carried out even then, so a longer time-out of the client extends the wait.
        """
        if self._is_closed:
            raise PeerUnavailable("the broker is stopping")
        tries = tries or Tries(b"")
        number = self._numbers.open()
        async with asyncio.timeout(None) as limit:
            self._under_way[limit] = None
            try:
                answer: ForwardResponse = await self._peers.call_controller(
                    ApiKey.FORWARD,
                    0,
                    lambda: self._next_try(frame, connection, tries, number),
                    timeout=seconds,
                    attempt_timeout=seconds,
                )
            finally:
                del self._under_way[limit]
                self._numbers.close(number)
        if answer.error_code or answer.response_data is None:
            raise PeerUnavailable(f"the controller refused: {ErrorCode.of(answer.error_code).name}")
        await self._follow(answer.metadata_version)
        return answer.response_data

    def _next_try(
        self, frame: bytes, connection: ClientConnection, tries: Tries, number: int
    ) -> ForwardRequest:
        tries.begin()
        metadata = self._metadata
        return ForwardRequest(
            cluster_id=metadata.image.cluster_id,
            listener=connection.listener,
            principal=connection.principal,
            client_host=connection.host,
            request_data=frame,
            token=tries.token,
            attempt=tries.attempt,
            broker_id=metadata.node_id,
            incarnation=self._incarnation,
            number=number,
            floor=self._numbers.floor,
            term=metadata.term,
        )

    async def ask_controller(self, api_key: ApiKey, version: int, request: Message) -> Any:
        """Make this broker's own request for a change. Raises OSError if no controller responds."""
        if self._metadata.decides_here and self._peers.call_here is not None:
            decided = await self._peers.call_here(api_key, version, request)
            if not is_refused_as_controller(decided):
                return decided
        parts = write_request(api_key, version, 0, f"broker-{self._metadata.node_id}", request)
        frame = b"".join(part.read() if isinstance(part, FileSlice) else part for part in parts)
        answer = await self.pass_on(frame[SIZE_BYTES:], ClientConnection.of_broker_itself())
        return read_response(api_key, version, memoryview(answer))[1]

    async def _follow(self, version: int) -> None:
        if self._is_leaving:
            return
        try:
            async with asyncio.timeout(FOLLOW_SECONDS) as limit:
                self._following[limit] = None
                try:
                    await self._metadata.until(version)
                finally:
                    del self._following[limit]
        except TimeoutError:
            if not self._is_leaving:
                log.warning("this broker lags: it has not applied version %d of the metadata yet", version)
