"""What both consumers are made of: a librdkafka consumer used from one thread, with positions and rebalances.

librdkafka's consumer serves one thread at a time, so nothing here locks; `Positions` alone is shared.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException
from confluent_kafka import Consumer as LibrdkafkaConsumer

from tidelog.clients.connection import SLICE_S, Connection
from tidelog.clients.consumer.config import ConsumerConfig
from tidelog.clients.consumer.first_contact import FirstContact
from tidelog.clients.consumer.intake import Intake
from tidelog.clients.consumer.positions import Positions
from tidelog.clients.consumer.rebalance import PartitionsCallback, RebalanceListener
from tidelog.clients.error_table import translated
from tidelog.clients.errors import ClientClosed, ClientError, UsageError
from tidelog.clients.librdkafka import OpenClient, open_librdkafka
from tidelog.clients.log import LOG
from tidelog.clients.options import OffsetResetPolicy
from tidelog.clients.places import all_to_librdkafka, from_librdkafka, to_librdkafka
from tidelog.clients.records import Message, TopicPartition

FIND_START_S = 2.0

AnswerT = TypeVar("AnswerT")


class ConsumerCore:
    def __init__(
        self,
        config: ConsumerConfig,
        key_deserializer: Callable[[bytes], Any],
        value_deserializer: Callable[[bytes], Any],
        open_client: OpenClient = LibrdkafkaConsumer,
    ) -> None:
        self.config = config
        self.positions = Positions()
        self.intake = Intake(key_deserializer, value_deserializer)
        self.on_gone: Callable[[Iterable[TopicPartition]], None] = lambda places: None
        """Called with the partitions whose messages are void: after a seek, or once they are revoked."""
        self.closed = False
        self._listener = RebalanceListener()
        self._starting: dict[TopicPartition, int | None] | None = None
        self._held = False
        self._raised: BaseException | None = None
        properties = config.to_librdkafka()
        properties.setdefault("on_commit", _log_failed_commit)
        self.connection = Connection.of(properties)
        self.first_contact = FirstContact(
            self.connection, config.request_timeout_ms / 1000, self._list_topics
        )
        self.client = open_librdkafka(open_client, properties, self._on_error)

    # Reading

    def take(self, timeout_s: float, limit: int, fetch: int | None = None) -> list[Message[Any, Any]]:
        """Messages that are there, or the first ones that come in time; then `fetch` of them at once."""
        self.check_open()
        self.store_handled()
        if not self.intake:
            self._fill(timeout_s, fetch or limit)
        return self.intake.take(limit)

    def _fill(self, timeout_s: float, count: int) -> None:
        with translated("Reading"):
            first = self._first(timeout_s)
            if first is not None:
                self.connection.reached = self.connection.reached or first.error() is None
                self.intake.add([first])
                # Without waiting: consume() would rather fill its list than be in time.
                self.intake.add(self.client.consume(count - 1, 0) if count > 1 else [])
        self._raise_from_listener()

    def _first(self, timeout_s: float) -> Any:
        """Before the first contact a long wait is cut into slices, to tell early that it is in vain."""
        left_s = timeout_s
        while left_s > SLICE_S and not self.connection.reached:
            first = self.client.poll(SLICE_S)
            if first is not None:
                return first
            self.first_contact.check()
            left_s -= SLICE_S
        return self.client.poll(left_s)

    def ask(self, what: str, call: Callable[[float], AnswerT], limit_s: float) -> AnswerT:
        """A blocking question to the brokers: `call` gets the seconds that it may wait."""
        try:
            with translated(what):
                return self.connection.ask(call, limit_s, self._serve)
        except ClientError as error:
            raise self.connection.explained(error) from error.__cause__

    def _serve(self) -> None:
        """Let librdkafka's callbacks run."""
        first = self.client.poll(0)
        if first is not None:
            self.intake.add([first])

    def _list_topics(self, limit_s: float) -> None:
        self.client.list_topics(timeout=limit_s)

    def store_handled(self) -> None:
        """Let librdkafka's auto-commit have what the application is done with."""
        handled = self.positions.take_handled()
        if not handled or not self.config.commits_itself:
            return
        assigned = set(self.assignment())
        offsets = [to_librdkafka(place, offset) for place, offset in handled.items() if place in assigned]
        if offsets:
            with translated("Storing offsets"):
                self.client.store_offsets(offsets=offsets)

    # Which partitions

    def subscribe(self, topics: Iterable[str], listener: RebalanceListener) -> None:
        self.check_open()
        if self.config.group_id is None:
            raise UsageError(
                "subscribe() needs a group.",
                cause="the configuration has no group_id, so no group would share out the partitions.",
                attempt="set group_id, or choose the partitions yourself with assign().",
            )
        names = [topics] if isinstance(topics, str) else list(topics)
        self._listener = listener
        with translated(f"Subscribing to {', '.join(names)}"):
            self.client.subscribe(
                names, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )

    def unsubscribe(self) -> None:
        self.check_open()
        with translated("Unsubscribing"):
            self.client.unsubscribe()

    def assign(self, places: Iterable[TopicPartition] | Mapping[TopicPartition, int | None]) -> None:
        """Read exactly these partitions, from the given offsets or from where the group or policy says."""
        self.check_open()
        starts = dict(places) if isinstance(places, Mapping) else dict.fromkeys(places)
        before = self.assignment()
        self._void(before)
        self.intake.forget_pauses(before)
        with translated("Assigning partitions"):
            self.client.assign([to_librdkafka(place, self._start(place, at)) for place, at in starts.items()])
        for place, offset in starts.items():
            self.positions.move(place, offset)

    def _start(self, place: TopicPartition, offset: int | None) -> int | None:
        if offset is not None or self.config.group_id is not None:
            return offset
        if self.config.auto_offset_reset is OffsetResetPolicy.NONE:
            raise UsageError(
                "assign() needs offsets here.",
                cause="there is neither a group with committed offsets nor an auto_offset_reset.",
                attempt="assign({TopicPartition(...): offset}), or choose an OffsetResetPolicy.",
            )
        earliest = self.config.auto_offset_reset is OffsetResetPolicy.EARLIEST
        try:
            # Asked now, LATEST means from this moment on; and librdkafka need not find the leader first,
            # for which it would wait half a second.
            low, high = self.connection.ask(
                lambda limit_s: self.client.get_watermark_offsets(to_librdkafka(place), limit_s),
                FIND_START_S,
                self._serve,
            )
            return int(low if earliest else high)
        except (KafkaException, TypeError):  # no broker or no such topic yet: librdkafka goes on trying
            return int(OFFSET_BEGINNING if earliest else OFFSET_END)

    def assignment(self) -> list[TopicPartition]:
        self.check_open()
        return from_librdkafka(self.client.assignment())

    # Rebalances: librdkafka calls these from within poll() and close()

    def _on_assign(self, client: Any, places: list[Any]) -> None:
        self.connection.reached = True
        given = from_librdkafka(places)
        self._starting = dict.fromkeys(given)
        self._tell(self._listener.on_assign, given)
        starts, self._starting = self._starting, None
        for place in places:
            offset = starts[TopicPartition(place.topic, place.partition)]
            if offset is not None:
                place.offset = offset
        (client.incremental_assign if self.config.is_incremental else client.assign)(places)
        self._pause_client([place for place in given if self._is_still(place)])

    def _on_revoke(self, client: Any, places: list[Any]) -> None:
        self._give_up(self._listener.on_revoke, from_librdkafka(places))

    def _on_lost(self, client: Any, places: list[Any]) -> None:
        self._give_up(self._listener.on_lost or self._listener.on_revoke, from_librdkafka(places))

    def _give_up(self, callback: PartitionsCallback | None, places: list[TopicPartition]) -> None:
        self.store_handled()
        self._tell(callback, places)
        self.positions.lose(places)
        self._void(places)
        self.intake.forget_pauses(places)

    def _tell(self, callback: PartitionsCallback | None, places: list[TopicPartition]) -> None:
        """What a listener raises comes out of poll(), after the rebalance has been seen through."""
        if callback is None or not places:
            return
        try:
            callback(places)
        except Exception as error:
            self._raised = self._raised or error

    def _raise_from_listener(self) -> None:
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised

    def _void(self, places: Iterable[TopicPartition]) -> None:
        gone = list(places)
        self.intake.drop(gone)
        self.positions.forget(gone)
        self.on_gone(gone)

    # Moving and pausing

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.check_open()
        if self._starting is not None and place in self._starting:
            self._starting[place] = offset  # within on_assign: this is where it begins
        else:
            with translated(f"Seeking in {place}"):
                self._seek_client(to_librdkafka(place, offset))
        self._void([place])
        self.positions.move(place, offset if offset >= 0 else None)

    def _seek_client(self, target: Any) -> None:
        try:
            self.client.seek(target)
        except KafkaException as error:
            assigned = self.client.assignment()
            if error.args[0].code() != KafkaError._STATE or target not in assigned:
                raise
            # Nothing is being fetched there, as after an offset that was out of range: begin anew.
            if self.config.is_incremental:
                self.client.incremental_unassign([target])
                self.client.incremental_assign([target])
            else:
                others = [place for place in assigned if place != target]
                self.client.assign([target, *self.client.position(others)])
                self._pause_client([place for place in self.assignment() if self._is_still(place)])

    def pause(self, places: Iterable[TopicPartition]) -> None:
        self.check_open()
        chosen = list(places)
        self.intake.pause(chosen)
        self._pause_client(chosen)

    def resume(self, places: Iterable[TopicPartition]) -> None:
        self.check_open()
        chosen = list(places)
        self.intake.resume(chosen)
        if not self._held:
            self._resume_client(chosen)

    def hold(self) -> None:
        """Fetch nothing at all for a while: the application has more than it can take."""
        self._held = True
        self._pause_client(self.assignment())

    def release(self) -> None:
        self._held = False
        self._resume_client([place for place in self.assignment() if place not in self.intake.paused])

    def _is_still(self, place: TopicPartition) -> bool:
        return self._held or place in self.intake.paused

    def _pause_client(self, places: list[TopicPartition]) -> None:
        if self._starting is not None:  # not assigned yet: done right after on_assign
            places = [place for place in places if place not in self._starting]
        if places:
            with translated("Pausing"):
                self.client.pause(all_to_librdkafka(places))

    def _resume_client(self, places: list[TopicPartition]) -> None:
        if places:
            with translated("Resuming"):
                self.client.resume(all_to_librdkafka(places))

    # Ending

    def check_open(self) -> None:
        if self.closed:
            raise ClientClosed("The consumer is closed.")

    def close(self, *, handled: bool) -> None:
        """Commit what was handled (with auto-commit), leave the group, end."""
        if self.closed:
            return
        if handled:
            self.positions.all_handled()
        try:
            self.store_handled()
        finally:
            self.client.close()
            self.closed = True
        self._raise_from_listener()

    def _on_error(self, error: Any) -> None:
        self.connection.heard(error)
        LOG.debug("librdkafka reports %s", error)


def _log_failed_commit(error: Any, places: list[Any]) -> None:
    """Commits in the background have no caller; a failure is repeated by the next one."""
    failed = error or next((place.error for place in places if place.error), None)
    if failed:
        LOG.warning("a commit in the background failed: %s", failed)
