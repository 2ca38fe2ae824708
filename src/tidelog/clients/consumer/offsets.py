"""Committed offsets, positions and lag of a consumer, asked of librdkafka in few requests."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tidelog.clients.consumer.core import ConsumerCore
from tidelog.clients.error_table import as_client_error, translated
from tidelog.clients.errors import CommitRefused, OffsetOutOfRange, RequestTimedOut, UsageError
from tidelog.clients.options import OffsetResetPolicy
from tidelog.clients.places import all_to_librdkafka, to_librdkafka
from tidelog.clients.records import Message, OffsetAndMetadata, TopicPartition, plain_offset

ToCommit: TypeAlias = Message[Any, Any] | Mapping[TopicPartition, int | OffsetAndMetadata] | None
"""A message: all up to it. A mapping: the offset of the next message to read. None: all handed out so far."""


class ConsumerOffsets:
    def __init__(self, core: ConsumerCore) -> None:
        self._core = core
        self._timeout_s = core.config.request_timeout_ms / 1000

    def commit(self, what: ToCommit, *, wait: bool) -> dict[TopicPartition, int]:
        """The offsets that were committed; with `wait=False`, that will be."""
        self._need_group("commit()")
        offsets = self._chosen(what)
        if not offsets:
            return {}
        places = [to_librdkafka(place, position) for place, position in offsets.items()]
        with translated("Committing offsets"):
            done = self._core.client.commit(offsets=places, asynchronous=not wait)
        for place in done or ():
            if place.error is not None:
                raise as_client_error(place.error, f"Committing {place.topic}[{place.partition}]")
        plain = {place: plain_offset(position) for place, position in offsets.items()}
        self._core.positions.committed(plain)
        return plain

    def to_commit_elsewhere(
        self, what: ToCommit
    ) -> tuple[Mapping[TopicPartition, int | OffsetAndMetadata], Any]:
        """For a transaction: the offsets, and librdkafka's description of this member of the group."""
        self._need_group("commit_offsets()")
        self._need_own_commits("commit_offsets()")
        if lost := self._core.positions.take_lost():
            raise CommitRefused(
                f"{', '.join(map(str, sorted(lost)))} went to another consumer while messages were in hand."
            )
        return self._chosen(what), self._core.client.consumer_group_metadata()

    def rewind(self) -> dict[TopicPartition, int]:
        """Deliver uncommitted messages again; returns the next offsets to read."""
        self._need_group("rewind()")
        self._need_own_commits("rewind()")
        self._core.positions.take_lost()
        assigned = set(self._core.assignment())
        back = {
            place: offset
            for place, offset in self._core.positions.first_uncommitted().items()
            if place in assigned
        }
        for place, offset in back.items():
            self._core.seek(place, offset)
        return back

    def _chosen(self, what: ToCommit) -> Mapping[TopicPartition, int | OffsetAndMetadata]:
        if what is None:
            return self._core.positions.uncommitted()
        if isinstance(what, Message):
            return {what.topic_partition: what.offset + 1}
        return what

    def committed(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """What the group has committed; a partition without a commit is left out."""
        self._need_group("committed()")
        wanted = all_to_librdkafka(places)
        answers = self._core.ask(
            "Asking for committed offsets",
            lambda limit_s: self._core.client.committed(wanted, limit_s),
            self._timeout_s,
        )
        found = {}
        for place in answers:
            if place.error is not None:
                raise as_client_error(
                    place.error, f"The committed offset of {place.topic}[{place.partition}]"
                )
            if place.offset >= 0:
                found[TopicPartition(place.topic, place.partition)] = place.offset
        return found

    def position(self, place: TopicPartition) -> int:
        return self.positions([place])[place]

    def positions(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Returns the next offsets: behind the last message, else at the commit, else by the policy."""
        self._core.check_open()
        chosen = list(places)
        known = {place: self._core.positions.next_of(place) for place in chosen}
        unknown = [place for place, offset in known.items() if offset is None]
        committed = self.committed(unknown) if unknown and self._core.config.group_id else {}
        found = {}
        for place in chosen:
            offset = committed.get(place) if known[place] is None else known[place]
            found[place] = self._reset(place) if offset is None else offset
        return found

    def _reset(self, place: TopicPartition) -> int:
        policy = self._core.config.auto_offset_reset
        if policy is OffsetResetPolicy.NONE:
            raise OffsetOutOfRange(f"There is no position in {place} yet.", retriable=True)
        low, high = self.watermarks(place)
        return low if policy is OffsetResetPolicy.EARLIEST else high

    def lag(self) -> dict[TopicPartition, int]:
        """Messages that are in the log and not yet handed out, per assigned partition."""
        behind = {}
        for place, position in self.positions(self._core.assignment()).items():
            low, high = self.watermarks(place)
            behind[place] = max(0, high - max(low, position))
        return behind

    def watermarks(self, place: TopicPartition) -> tuple[int, int]:
        """Returns the first offset in the log, and the offset that the next record will get."""
        self._core.check_open()
        answer = self._core.ask(
            f"Asking for the offsets of {place}",
            lambda limit_s: self._core.client.get_watermark_offsets(to_librdkafka(place), limit_s),
            self._timeout_s,
        )
        if answer is None:  # what librdkafka's binding gives when the time is over
            silence = RequestTimedOut(f"Asking for the offsets of {place} got no answer.", retriable=True)
            raise self._core.connection.explained(silence)
        low, high = answer
        return int(low), int(high)

    def offsets_at(
        self, timestamp: int, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int | None]:
        """The first offset at or after a time; None where nothing is that young."""
        self._core.check_open()
        wanted = [to_librdkafka(place, timestamp) for place in places]
        answers = self._core.ask(
            "Asking for offsets by time",
            lambda limit_s: self._core.client.offsets_for_times(wanted, limit_s),
            self._timeout_s,
        )
        return {
            TopicPartition(place.topic, place.partition): place.offset if place.offset >= 0 else None
            for place in answers
        }

    def _need_own_commits(self, call: str) -> None:
        if self._core.config.commits_itself:
            raise UsageError(
                f"{call} needs a consumer that does not commit by itself.",
                cause="enable_auto_commit would commit messages whose transaction was aborted.",
                attempt="set enable_auto_commit=False in the ConsumerConfig.",
            )

    def _need_group(self, call: str) -> None:
        self._core.check_open()
        if self._core.config.group_id is None:
            raise UsageError(
                f"{call} needs a group.",
                cause="the configuration has no group_id to keep offsets under.",
                attempt="set group_id in the ConsumerConfig.",
            )
