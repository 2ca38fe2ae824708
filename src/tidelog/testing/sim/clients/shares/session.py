"""A member's share session with one broker: fetches and acknowledgements, which the history has with their
answers."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.shares.states import AckType
from tidelog.testing.history import Completion
from tidelog.testing.share_history import Ack, Acknowledge, ShareHistory, Take, Taken
from tidelog.testing.sim.clients.client import ERRORS, Address, Client
from tidelog.testing.sim.clients.shares.requests import (
    Place,
    PlannedAck,
    ack_topics,
    fetch_topics,
    forgotten_topics,
)
from tidelog.testing.sim.clients.shares.sight import Look, ShareSight
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.batch import iter_batches
from tidelog.wire.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from tidelog.wire.messages.share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse
from tidelog.wire.record import read_records

VERSION = 2
NEW, LAST = 0, -1
"""Epochs of a session: the request that begins it, and the one that ends it."""
ANSWER_SECONDS = 2.0
SAVE_SECONDS = 4.0

REFUSED = {
    ErrorCode.INVALID_RECORD_STATE,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
}
"""The acknowledgement certainly has no effect; after all other errors it may have been saved."""

SESSION_LOST = {ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH}

EXPECTED = SESSION_LOST | {
    ErrorCode.INVALID_RECORD_STATE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""A member that does nothing wrong gets no other errors."""


class TakenRecord(NamedTuple):
    place: Place
    offset: int
    delivery: int
    is_gap: bool
    """The offset was locked, and no record came with it."""


class ShareSession:
    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        shares: ShareHistory,
        sight: ShareSight,
        *,
        group: str,
        member_id: str,
        address: Address,
        numbers: Iterator[int],
    ) -> None:
        """`numbers`: for each session that is begun, one that no other of the member has."""
        self._loop = loop
        self._client = client
        self._shares = shares
        self._sight = sight
        self._group = group
        self._member_id = member_id
        self._address = address
        self._epoch = NEW
        self._numbers = numbers
        self._number = 0
        self._places: list[Place] = []
        self.complaints: list[str] = []
        self.fine = True
        """Whether the last request brought no error."""

    @property
    def is_open(self) -> bool:
        return self._epoch != NEW

    @property
    def _connection(self) -> str:
        return f"{self._member_id} at {self._address[0]}:{self._address[1]}, session {self._number}"

    # Requests

    async def fetch(
        self, places: list[Place], acks: list[PlannedAck], *, wait_ms: int, records_max: int, exact: bool
    ) -> list[TakenRecord]:
        """Acknowledge, then take what there is; OSError where no answer came."""
        if self._epoch == NEW:
            self._number = next(self._numbers)
        request = ShareFetchRequest(
            group_id=self._group,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=records_max,
            batch_size=records_max,
            share_acquire_mode=int(exact),
            topics=fetch_topics(self._client.topic_ids, places, acks),
            forgotten_topics_data=[]
            if self._epoch == NEW
            else forgotten_topics(self._client.topic_ids, self._places, places),
        )
        look = self._sight.before(self._address, places)
        recorded = self._record(acks, look)
        now = self._loop.now
        take = self._shares.add(Take(self._group, self._member_id, self._connection, now, broker=look.broker))
        try:
            answer: ShareFetchResponse = await self._client.call(
                self._address, ApiKey.SHARE_FETCH, VERSION, request, wait_ms / 1000 + SAVE_SECONDS
            )
            self._places = places
            return self._fetched(answer, take, recorded, look)
        except OSError:
            self._lose()
            raise
        finally:
            take.ended = recorded.ended = self._loop.now
            self._shares.finished(take)
            self._shares.finished(recorded)

    def _fetched(
        self, answer: ShareFetchResponse, take: Take, recorded: Acknowledge, look: Look
    ) -> list[TakenRecord]:
        take.clock_ms = self._sight.clocks().latest_ms
        records: list[TakenRecord] = []
        self.fine = self._check(answer.error_code, answer.error_message)
        if not self.fine:
            take.outcome = Completion.FAIL  # a session that does not exist locks nothing
            self._answer_all(recorded, ERRORS[answer.error_code])
            return []
        take.outcome = Completion.OK
        self._advance()
        names = {id: name for name, id in self._client.topic_ids.items()}
        for topic in answer.responses:
            for data in topic.partitions:
                place = names[topic.topic_id], data.partition_index
                self._answer(recorded, place, data.acknowledge_error_code, look)
                if self._check(data.error_code, data.error_message):
                    records += self._taken(place, data, take, look)
                else:
                    self.fine = False
        return records

    async def acknowledge(self, acks: list[PlannedAck]) -> None:
        request = ShareAcknowledgeRequest(
            group_id=self._group,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            is_renew_ack=any(ack.type is AckType.RENEW for ack in acks),
            topics=ack_topics(self._client.topic_ids, acks),
        )
        look = self._sight.before(self._address, list({ack.place: None for ack in acks}))
        recorded = self._record(acks, look)
        try:
            answer: ShareAcknowledgeResponse = await self._client.call(
                self._address, ApiKey.SHARE_ACKNOWLEDGE, VERSION, request, SAVE_SECONDS
            )
            self._acknowledged(answer, recorded, look)
        except OSError:
            self._lose()
            raise
        finally:
            recorded.ended = self._loop.now
            self._shares.finished(recorded)

    def _acknowledged(self, answer: ShareAcknowledgeResponse, recorded: Acknowledge, look: Look) -> None:
        self.fine = self._check(answer.error_code, answer.error_message)
        if not self.fine:
            self._answer_all(recorded, ERRORS[answer.error_code])
            return
        self._advance()
        names = {id: name for name, id in self._client.topic_ids.items()}
        for topic in answer.responses:
            for data in topic.partitions:
                place = names[topic.topic_id], data.partition_index
                self._answer(recorded, place, data.error_code, look)
                if data.error_code != ErrorCode.INVALID_REQUEST:  # a record that a new leader does not know
                    self.fine = self._check(data.error_code, data.error_message) and self.fine

    async def close(self) -> None:
        """What the member still holds is available again."""
        request = ShareFetchRequest(
            group_id=self._group, member_id=self._member_id, share_session_epoch=LAST, min_bytes=0
        )
        self._epoch = NEW
        answer: ShareFetchResponse = await self._client.call(
            self._address, ApiKey.SHARE_FETCH, VERSION, request, ANSWER_SECONDS
        )
        self._check(answer.error_code, answer.error_message)

    # Answers

    def _advance(self) -> None:
        self._epoch += 1

    def _lose(self) -> None:
        self._epoch, self._places, self.fine = NEW, [], False

    def _check(self, code: int, message: str | None) -> bool:
        error = ERRORS[code]
        if error in SESSION_LOST:
            self._lose()
        if error is not ErrorCode.NONE and error not in EXPECTED:
            self.complaints.append(f"{self._connection} of {self._group} got {error.name}: {message}")
        return error is ErrorCode.NONE

    def _taken(self, place: Place, data: PartitionData, take: Take, look: Look) -> Iterable[TakenRecord]:
        values: dict[int, str] = {}
        view = memoryview(data.records or b"")  # type: ignore[arg-type]  # decoded answers hold no file slices
        for position, header in iter_batches(view):
            if not header.is_control:
                for record in read_records(view[position : position + header.size]):
                    values[record.offset] = bytes(record.value or b"").decode()
        epoch = look.epoch(place)
        name = f"{place[0]}-{place[1]}"
        for acquired in data.acquired_records:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                value = values.get(offset)
                if value is not None:
                    take.records.append(Taken(name, offset, value, acquired.delivery_count, epoch))
                yield TakenRecord(place, offset, acquired.delivery_count, value is None)

    def _record(self, acks: list[PlannedAck], look: Look) -> Acknowledge:
        event = Acknowledge(
            self._group,
            self._member_id,
            self._connection,
            self._loop.now,
            broker=look.broker,
            clock_ms=self._sight.clocks().earliest_ms,
            acks=[
                Ack(
                    f"{ack.place[0]}-{ack.place[1]}",
                    ack.offset,
                    ack.type,
                    ack.delivery,
                    delay_ms=ack.delay_ms,
                )
                for ack in acks
                if ack.type is not AckType.GAP
            ],
        )
        return self._shares.add(event) if event.acks else event

    def _answer(self, recorded: Acknowledge, place: Place, code: int, look: Look) -> None:
        name, error, epoch = f"{place[0]}-{place[1]}", ERRORS[code], look.epoch(place)
        for ack in recorded.acks:
            if ack.partition == name:
                ack.epoch = epoch
                self._resolve(ack, error)

    def _answer_all(self, recorded: Acknowledge, error: ErrorCode) -> None:
        for ack in recorded.acks:
            self._resolve(ack, error)

    @staticmethod
    def _resolve(ack: Ack, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            ack.outcome = Completion.OK
        else:
            ack.outcome = Completion.FAIL if error in REFUSED else Completion.INFO
            ack.error = error.name
