"""The leader's side of a follower's fetch: who may ask, what is answered at once, and what is left behind."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.rigs import virtual_time
from tidelog.base.errors import ErrorCode
from tidelog.broker.replication import replica_sessions
from tidelog.broker.requests.answer import LateAnswer
from tidelog.storage.log import PartitionLog
from tidelog.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

TOPIC_ID = bytes(range(16))
FOLLOWER, ITS_EPOCH = 2, 102


class Leader:
    """Broker 1 of a rig, whose followers are this test."""

    def __init__(self, rig: Any) -> None:
        self.rig = rig
        self.broker = rig[1]
        self.session_id = 0
        self.session_epoch = 0

    def host(self, partitions: int = 1) -> None:
        self.rig.tell = lambda to=None: None  # nobody else copies
        self.rig.create(partitions)
        for index, image in self.rig.images.items():
            self.broker[index].apply(image, 0.0)

    def fetch(
        self,
        *asked: tuple[int, int],
        forget: tuple[int, ...] = (),
        replica: int = FOLLOWER,
        epoch: int = 0,
        last_epoch: int = -1,
        wait_ms: int = 500,
        version: int = 17,
        is_allowed: Callable[[], bool] | None = None,
        **fields: int,
    ) -> FetchResponse | LateAnswer[FetchResponse]:
        partitions = [
            FetchPartition(
                partition=index,
                fetch_offset=offset,
                current_leader_epoch=epoch,
                last_fetched_epoch=last_epoch,
                log_start_offset=0,
                partition_max_bytes=1 << 20,
            )
            for index, offset in asked
        ]
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=fields.pop("min_bytes", 1),
            max_bytes=1 << 20,
            session_id=fields.pop("session_id", self.session_id),
            session_epoch=fields.pop("session_epoch", self.session_epoch),
            topics=[FetchTopic(topic_id=TOPIC_ID, partitions=partitions)] if partitions else [],
            forgotten_topics_data=[ForgottenTopic(topic_id=TOPIC_ID, partitions=list(forget))]
            if forget
            else [],
        )
        answer = self.broker.fetches.handle(request, version, replica, ITS_EPOCH, is_allowed)
        self.session_epoch += 1
        return answer

    async def answer(self, *asked: tuple[int, int], **fields: Any) -> list[PartitionData]:
        answer = self.fetch(*asked, **fields)
        response = await answer if isinstance(answer, LateAnswer) else answer
        assert response.error_code == 0
        self.session_id = response.session_id
        return [one for topic in response.responses for one in topic.partitions]


@pytest.fixture
def on_leader(make_rig: Callable[..., Any]) -> Callable[[Callable[[Leader], Awaitable[None]]], None]:
    def run(work: Callable[[Leader], Awaitable[None]]) -> None:
        async def whole() -> None:
            leader = Leader(make_rig())
            await work(leader)
            leader.broker.fetches.sessions.end_all()
            for partition in leader.broker.hosted:
                assert not partition.watchers.consumers
                assert not partition.watchers.followers

        virtual_time.run(whole())

    return run


OnLeader = Callable[[Callable[[Leader], Awaitable[None]]], None]


def codes(answers: list[PartitionData]) -> list[int]:
    return [answer.error_code for answer in answers]


def test_what_is_there_is_given_at_once_and_not_again_before_it_is_asked_for(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        leader.broker.produce(b"a")
        [first] = await leader.answer((0, 0))
        assert first.records
        leader.broker.produce(b"b")
        assert await leader.answer(wait_ms=0) == [], "the follower has not said yet where it is now"
        [second] = await leader.answer((0, 1), last_epoch=0)
        assert second.records

    on_leader(work)


def test_a_fetch_that_waits_is_answered_by_the_next_append(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host(2)
        await leader.answer((0, 0), (1, 0))
        waiting = leader.fetch()
        assert isinstance(waiting, LateAnswer)
        await asyncio.sleep(0.2)
        leader.broker.produce(b"a", index=1)
        leader.broker.produce(b"b", index=0)
        leader.broker.produce(b"c", index=1)
        response = await waiting
        assert asyncio.get_running_loop().time() == pytest.approx(0.22)
        found = {one.partition_index: len(one.records or b"") for one in response.responses[0].partitions}
        assert list(found) == [1, 0]
        assert found[1] == 2 * found[0], "all that was appended in one turn travels together"

    on_leader(work)


def test_less_than_min_bytes_waits_and_comes_when_the_time_is_over(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        leader.broker.produce(b"a")
        [answer] = await leader.answer((0, 0), min_bytes=100_000)
        assert asyncio.get_running_loop().time() == pytest.approx(0.5)
        assert answer.records

    on_leader(work)


def test_a_newer_request_of_the_session_lets_go_of_the_one_that_waits(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host(2)
        await leader.answer((0, 0))
        first = leader.fetch()
        second = leader.fetch((1, 0))
        assert isinstance(first, LateAnswer)
        assert isinstance(second, LateAnswer)
        assert (await first).responses == []
        leader.broker.produce(b"a")
        assert [one.partition_index for one in (await second).responses[0].partitions] == [0, 1]

    on_leader(work)


def test_a_follower_that_went_away_leaves_nothing_that_waits(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        await leader.answer((0, 0))
        waiting = leader.fetch()
        assert isinstance(waiting, LateAnswer)
        waiting.cancel()
        await asyncio.sleep(0)
        leader.broker.produce(b"a")
        await asyncio.sleep(1)
        [found] = await leader.answer()
        assert found.records

    on_leader(work)


def test_a_fetch_without_a_session_leaves_nothing_at_all(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        for give_up in (False, True):
            waiting = leader.fetch((0, 0), session_epoch=-1, session_id=0)
            assert isinstance(waiting, LateAnswer)
            assert leader.broker[0].watchers.followers
            if give_up:
                waiting.cancel()
            await asyncio.sleep(1)
            assert not leader.broker[0].watchers.followers
        assert len(leader.broker.fetches.sessions) == 0

    on_leader(work)


@pytest.mark.parametrize("waits", [False, True])
def test_a_fetch_without_a_session_leaves_nothing_if_reading_fails_inside_the_broker(
    on_leader: OnLeader, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a mistake of ours")

    async def fetch(leader: Leader) -> None:
        if not waits:
            leader.broker.produce(b"a")
        fetch = leader.fetch((0, 0), session_epoch=-1, session_id=0)
        assert isinstance(fetch, LateAnswer)
        leader.broker.produce(b"a")
        await fetch

    async def work(leader: Leader) -> None:
        leader.host()
        with monkeypatch.context() as patched:
            patched.setattr(PartitionLog, "read", fail)
            with pytest.raises(ValueError, match="a mistake of ours"):
                await fetch(leader)
        assert not leader.broker[0].watchers.followers
        assert not leader.broker[0].watchers.consumers

    on_leader(work)


def test_a_permission_that_is_lost_during_the_wait_ends_it(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        await leader.answer((0, 0))
        waiting = leader.fetch(is_allowed=lambda: False)
        alone = leader.fetch((0, 0), session_epoch=-1, session_id=0, is_allowed=lambda: False)
        allowed = leader.fetch((0, 0), session_epoch=-1, session_id=0, is_allowed=lambda: True)
        leader.broker.produce(b"a")
        for fetch, error, topics in (
            (waiting, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, 0),
            (alone, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, 0),
            (allowed, ErrorCode.NONE, 1),
        ):
            assert isinstance(fetch, LateAnswer)
            response = await fetch
            assert (response.error_code, len(response.responses)) == (error, topics)
        assert len(leader.broker[0].watchers.followers) == 1, "the session's"

    on_leader(work)


def test_who_may_not_ask(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        leader.rig.lead(1)
        leader.broker[0].apply(leader.rig.images[0], 0.0)
        fresh = {"session_epoch": -1, "session_id": 0}
        assert codes(await leader.answer((0, 0), epoch=0, **fresh)) == [ErrorCode.FENCED_LEADER_EPOCH]
        assert codes(await leader.answer((0, 0), epoch=2, **fresh)) == [ErrorCode.UNKNOWN_LEADER_EPOCH]
        assert codes(await leader.answer((0, 0), epoch=1, replica=9, **fresh)) == [
            ErrorCode.UNKNOWN_LEADER_EPOCH
        ]
        assert codes(await leader.answer((7, 0), epoch=1, **fresh)) == [ErrorCode.UNKNOWN_TOPIC_ID]
        [far] = await leader.answer((0, 5), epoch=1, **fresh)
        assert far.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert far.diverging_epoch is not None
        assert (far.log_start_offset, far.diverging_epoch.end_offset) == (0, 0)

    on_leader(work)


def test_a_waiting_follower_hears_at_once_that_the_leader_is_another(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        await leader.answer((0, 0))
        waiting = leader.fetch()
        assert isinstance(waiting, LateAnswer)
        leader.rig.lead(3)
        leader.broker[0].apply(leader.rig.images[0], 0.0)
        [answer] = (await waiting).responses[0].partitions
        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    on_leader(work)


def test_sessions_that_are_out_of_step(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        await leader.answer((0, 0))
        known, fetch = leader.session_id, leader.fetch
        for fields, code in [
            ({"session_id": known + 1, "session_epoch": 1}, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
            ({"session_id": known, "session_epoch": 5}, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
            ({"session_id": known, "session_epoch": 1, "replica": 3}, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
            (
                {"session_id": known, "session_epoch": 1, "version": 12},
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
            ),
        ]:
            answer = fetch(**fields)  # type: ignore[arg-type]
            assert isinstance(answer, FetchResponse)
            assert answer.error_code == code

    on_leader(work)


def test_a_follower_that_begins_again_and_again_pushes_out_its_own_sessions_only(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        await leader.answer((0, 0), replica=3)
        for _ in range(20):
            leader.session_epoch = leader.session_id = 0
            await leader.answer((0, 0))
        sessions = leader.broker.fetches.sessions
        assert len(sessions) == replica_sessions.SESSIONS_PER_REPLICA_MAX + 1
        assert len(leader.broker[0].watchers.followers) == len(sessions)

    on_leader(work)


def test_forgotten_partitions_are_not_watched_any_more(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host(2)
        await leader.answer((0, 0), (1, 0))
        await leader.answer(forget=(1, 5))
        assert not leader.broker[1].watchers.followers
        leader.broker.produce(b"a", index=1)
        assert await leader.answer() == []

    on_leader(work)


def test_a_quiet_follower_stays_in_time_as_long_as_it_asks(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host(3)
        await leader.answer((0, 0), (1, 0), (2, 0))
        for _ in range(100):
            await leader.answer()
        now = asyncio.get_running_loop().time()
        assert now > 40
        for index in range(3):
            progress = leader.broker[index].leader.progress_of(FOLLOWER)
            assert now - progress.caught_up_at < 2
        await asyncio.sleep(60)
        leader.broker.produce(b"a")
        proposal = leader.broker[0].leader.isr_wanted(now + 60, 30, lambda _: True)
        assert FOLLOWER not in proposal.isr

    on_leader(work)


def test_what_a_follower_had_in_another_epoch_says_nothing_in_this_one(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        leader.broker.produce(b"a", b"b")
        await leader.answer((0, 0))
        await leader.answer((0, 2), last_epoch=0)
        partition = leader.broker[0]
        for new_leader in (3, 1):  # back and forth, before the follower asks again
            leader.rig.lead(new_leader)
            partition.apply(leader.rig.images[0], 0.0)
        await asyncio.sleep(5)
        assert codes(await leader.answer()) == [ErrorCode.FENCED_LEADER_EPOCH]
        assert partition.leader.progress_of(FOLLOWER).end == -1

    on_leader(work)


def test_a_follower_must_say_whom_it_follows(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        assert codes(await leader.answer((0, 0), epoch=-1)) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]

    on_leader(work)


def test_a_follower_that_caught_up_is_said_to_be_able_to_join(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        leader.rig.lead(1, isr=(1,))
        leader.broker[0].apply(leader.rig.images[0], 0.0)
        leader.broker.produce(b"a")
        await leader.answer((0, 0), epoch=1)
        assert leader.broker.could_join == []
        await leader.answer((0, 1), epoch=1, last_epoch=1)
        assert leader.broker.could_join == [leader.broker[0]]

    on_leader(work)


def test_a_log_that_diverged_gets_the_offset(on_leader: OnLeader) -> None:
    async def work(leader: Leader) -> None:
        leader.host()
        leader.broker.produce(b"a")
        leader.rig.lead(1)
        leader.broker[0].apply(leader.rig.images[0], 0.0)
        leader.broker.produce(b"b")
        [answer] = await leader.answer((0, 4), epoch=1, last_epoch=0)
        assert answer.diverging_epoch is not None
        assert (answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset) == (0, 1)
        assert not answer.records
        assert leader.broker[0].leader.progress_of(FOLLOWER).end == -1, (
            "nothing is known of it before the logs agree"
        )

    on_leader(work)
