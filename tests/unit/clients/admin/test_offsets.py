"""Leaders that do not know yet that they lead are asked again, and only they."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
from confluent_kafka import TopicPartition as LibrdkafkaPlace

from tidelog import AdminConfig, NoLeader, TopicPartition, UnknownTopic
from tidelog.clients.admin import offsets as admin_offsets
from tidelog.clients.admin.offsets import OffsetAdmin

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
NOT_YET = NoLeader("Not yet.", retriable=True)
NOWHERE = UnknownTopic("No leaders found.", reason="_NOENT")


class Done:
    low_watermark = 7


class Scripted(OffsetAdmin):
    """Answers each round of questions from a list."""

    def __init__(self, *rounds: Mapping[TopicPartition, object]) -> None:
        super().__init__(AdminConfig(bootstrap_servers="127.0.0.1:1", request_timeout_ms=1_000))
        self._rounds = list(rounds)
        self.asked: list[list[TopicPartition]] = []

    def _answers(
        self, what: str, call: Callable[..., Mapping[Any, Any]], *arguments: Any, **named: Any
    ) -> dict[Any, Any]:
        places: Iterable[LibrdkafkaPlace] = arguments[0]
        now = self._rounds.pop(0) if len(self._rounds) > 1 else self._rounds[0]
        asked = {place: TopicPartition(place.topic, place.partition) for place in places}
        self.asked.append(list(asked.values()))
        return {place: now[each] for place, each in asked.items()}


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    time = [0.0]
    monkeypatch.setattr(admin_offsets.time, "monotonic", lambda: time[0])
    monkeypatch.setattr(admin_offsets.time, "sleep", lambda seconds: time.__setitem__(0, time[0] + seconds))


def test_only_those_without_an_answer_are_asked_again() -> None:
    admin = Scripted({A: Done(), B: NOT_YET}, {B: NOT_YET}, {B: Done()})
    assert admin.delete_records({A: 7, B: None}) == {A: 7, B: 7}
    assert admin.asked == [[A, B], [B], [B]]


def test_within_the_time_of_a_request() -> None:
    admin = Scripted({A: NOT_YET})
    with pytest.raises(NoLeader):
        admin.delete_records({A: 7})
    assert len(admin.asked) > 5


def test_a_partition_that_does_not_exist_is_not_waited_for_long() -> None:
    admin = Scripted({A: NOWHERE, B: Done()}, {A: NOWHERE})
    with pytest.raises(UnknownTopic):
        admin.list_offsets([A, B])
    assert 2 < len(admin.asked) < 15


def test_nothing_wanted_is_nothing_asked() -> None:
    admin = Scripted({})
    assert admin.delete_records({}) == {}
    assert admin.list_offsets([]) == {}
    assert admin.asked == []
