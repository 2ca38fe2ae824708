import itertools

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, FetchPlan, FetchSessions
from tidelog.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)


class Clock:
    now = 0.0

    def now_ms(self) -> int:
        return int(self.now * 1000)

    def monotonic(self) -> float:
        return self.now


class Counting:
    def __init__(self) -> None:
        self._next = itertools.count(1)

    def bytes(self, count: int) -> bytes:
        return bytes(count)

    def below(self, limit: int) -> int:
        return next(self._next)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(clock: Clock) -> FetchSessions:
    return FetchSessions(clock, Counting(), slots=2, evict_after_ms=120_000)


def request(session_id: int, epoch: int, *partitions: int, forget: tuple[int, ...] = ()) -> FetchRequest:
    topics = [
        FetchTopic(
            topic="t", partitions=[FetchPartition(partition=p, fetch_offset=p * 10) for p in partitions]
        )
    ]
    forgotten = [ForgottenTopic(topic="t", partitions=list(forget))]
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=topics if partitions else [],
        forgotten_topics_data=forgotten if forget else [],
    )


def shown(plan: FetchPlan) -> list[int]:
    return [wanted.request.partition for wanted in plan.wanted]


def quiet_answers(plan: FetchPlan, **changed: int) -> list[PartitionData]:
    answers = [
        PartitionData(partition_index=p, high_watermark=5, log_start_offset=0, records=b"")
        for p in shown(plan)
    ]
    return [answer for _, answer in plan.trim(zip(plan.wanted, answers, strict=True))]


def test_a_session_remembers_its_partitions_and_tells_only_news(sessions: FetchSessions) -> None:
    first = sessions.plan(request(0, INITIAL_EPOCH, 0, 1), version=12)
    assert first.session_id > 0
    assert len(quiet_answers(first)) == 2, "a full fetch names every partition"

    second = sessions.plan(request(first.session_id, 1), version=12)
    assert shown(second) == [0, 1]
    assert quiet_answers(second) == [], "nothing changed, so there is nothing to say"

    third = sessions.plan(request(first.session_id, 2), version=12)
    answers = [
        PartitionData(partition_index=p, high_watermark=5 + p, log_start_offset=0, records=b"")
        for p in (0, 1)
    ]
    told = [answer.partition_index for _, answer in third.trim(zip(third.wanted, answers, strict=True))]
    assert told == [1], "only the partition whose high watermark moved"


def test_an_error_is_repeated_until_it_is_gone_and_then_the_recovery_is_told(sessions: FetchSessions) -> None:
    plan = sessions.plan(request(0, INITIAL_EPOCH, 0), version=12)
    quiet_answers(plan)
    for epoch in (1, 2):
        again = sessions.plan(request(plan.session_id, epoch), version=12)
        bad = PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, high_watermark=-1, records=b"")
        assert len(list(again.trim(zip(again.wanted, [bad], strict=True)))) == 1
    healed = sessions.plan(request(plan.session_id, 3), version=12)
    assert len(quiet_answers(healed)) == 1


def test_partitions_are_added_changed_and_forgotten(sessions: FetchSessions) -> None:
    id = sessions.plan(request(0, INITIAL_EPOCH, 0, 1), version=12).session_id
    plan = sessions.plan(request(id, 1, 2, forget=(0,)), version=12)
    assert shown(plan) == [1, 2]
    moved = request(id, 2, 1)
    moved.topics[0].partitions[0].fetch_offset = 77
    assert sessions.plan(moved, version=12).wanted[0].request.fetch_offset == 77


def test_partitions_with_data_go_last_so_that_none_starves(sessions: FetchSessions) -> None:
    plan = sessions.plan(request(0, INITIAL_EPOCH, 0, 1, 2), version=12)
    answers = [PartitionData(partition_index=p, records=b"x" if p == 0 else b"") for p in (0, 1, 2)]
    list(plan.trim(zip(plan.wanted, answers, strict=True)))
    assert shown(sessions.plan(request(plan.session_id, 1), version=12)) == [1, 2, 0]


@pytest.mark.parametrize(
    ("session_id", "epoch", "version", "code"),
    [
        (999, 1, 12, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (1, 7, 12, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, 1, 13, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_a_session_out_of_step_is_refused(
    sessions: FetchSessions, session_id: int, epoch: int, version: int, code: ErrorCode
) -> None:
    assert sessions.plan(request(0, INITIAL_EPOCH, 0), version=12).session_id == 1
    with pytest.raises(KafkaError) as refused:
        sessions.plan(request(session_id, epoch), version=version)
    assert refused.value.code is code


def test_full_cache_serves_without_a_session_until_one_is_old(sessions: FetchSessions, clock: Clock) -> None:
    first, second = (sessions.plan(request(0, INITIAL_EPOCH, 0), version=12).session_id for _ in range(2))
    assert sessions.plan(request(0, INITIAL_EPOCH, 0), version=12).session_id == 0
    clock.now = 100.0
    sessions.plan(request(first, 1), version=12)
    clock.now = 130.0
    assert sessions.plan(request(0, INITIAL_EPOCH, 0), version=12).session_id > 0
    assert len(sessions) == 2
    with pytest.raises(KafkaError):
        sessions.plan(request(second, 1), version=12)  # the one that was idle went
    sessions.plan(request(first, 2), version=12)


def test_the_final_epoch_closes_the_session(sessions: FetchSessions) -> None:
    id = sessions.plan(request(0, INITIAL_EPOCH, 0), version=12).session_id
    plan = sessions.plan(request(id, FINAL_EPOCH, 0), version=12)
    assert plan.session_id == 0
    assert shown(plan) == [0]
    assert len(sessions) == 0


def test_old_versions_have_no_sessions(sessions: FetchSessions) -> None:
    assert sessions.plan(request(0, FINAL_EPOCH, 0), version=4).session_id == 0


def test_the_partitions_of_all_sessions_together_are_bounded(
    sessions: FetchSessions, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.broker.requests.fetch_sessions.PARTITIONS_MAX", 10)
    large = sessions.plan(request(0, INITIAL_EPOCH, *range(8)), 12)
    assert large.session_id != 0
    refused = sessions.plan(request(0, INITIAL_EPOCH, *range(3)), 12)
    assert refused.session_id == 0, "answered, but not remembered"
    assert len(refused.wanted) == 3
    small = sessions.plan(request(0, INITIAL_EPOCH, 1), 12)
    sessions.plan(request(large.session_id, 1, *range(7, 9)), 12)  # one more, one known
    with pytest.raises(KafkaError) as grown:
        sessions.plan(request(small.session_id, 1, 2), 12)
    assert grown.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    sessions.plan(request(large.session_id, 2, forget=(0, 1, 2, 3)), 12)
    assert sessions.plan(request(0, INITIAL_EPOCH, *range(5)), 12).session_id != 0
    clock.now = 1000.0
    assert sessions.plan(request(0, INITIAL_EPOCH, *range(10)), 12).session_id != 0
    assert len(sessions) == 1
    sessions.plan(request(0, FINAL_EPOCH), 12)
