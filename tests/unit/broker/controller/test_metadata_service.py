"""Changes of the metadata: decided on the newest image, kept, applied, told, and only then answered."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.rigs.quorum import QuorumRig
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.invariant import InvariantError
from tidelog.metadata.brokers.brokers import decide_create_cluster, decide_fence_broker
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.image import SECURITY_VERSION, ClusterImage, ImageDelta
from tidelog.metadata.image.records import BrokerRegistered, Endpoint, FeatureChanged
from tidelog.metadata.image.security import Grant
from tidelog.metadata.security.roles import decide_put_role
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics
from tidelog.raft.messages import RequestVote
from tidelog.security.acls.vocabulary import Operation, PatternType, ResourceType
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

ids = iter(range(1, 10_000))
ON_ORDERS = Grant(ResourceType.TOPIC, PatternType.LITERAL, "orders", (Operation.READ,))


def new_id() -> bytes:
    return next(ids).to_bytes(16, "big")


def topic(name: str) -> Callable[[ClusterImage], Decision[Any]]:
    return lambda image: decide_create_topics(
        image, [NewTopic(name, 1, 1)], defaults=TopicDefaults(), new_id=new_id
    )


def broker(image: ClusterImage) -> Decision[None]:
    where = Endpoint("PLAINTEXT", "h", 9092)
    return Decision([BrokerRegistered(1, 0, "AAAAAAAAAAAAAAAAAAAAAQ", (where,))], [None])


def with_rig(
    work: Callable[[QuorumRig], Awaitable[None]],
    disk: MemoryDisk | None = None,
    voters: tuple[int, ...] = (1,),
) -> None:
    async def life() -> None:
        rig = QuorumRig(disk, voters=voters)
        await rig.start()
        try:
            await work(rig)
        finally:
            await rig.stop()

    run(life())


def test_a_change_is_there_when_it_is_answered_and_after_a_restart() -> None:
    disk = MemoryDisk()

    async def first(rig: QuorumRig) -> None:
        assert rig.roles == [True]
        await rig.metadata.change(broker)
        before = rig.metadata.version
        [made] = await rig.metadata.change(topic("t"))
        assert made.ok
        assert "t" in rig.metadata.image.topics
        assert rig.metadata.version > before

    async def second(rig: QuorumRig) -> None:
        assert "t" in rig.metadata.image.topics

    with_rig(first, disk)
    with_rig(second, disk)


def test_the_live_brokers_are_those_of_the_newest_image_and_counted_once_for_it() -> None:
    async def work(rig: QuorumRig) -> None:
        assert rig.metadata.live_broker_ids() == frozenset()
        await rig.metadata.change(broker)
        live = rig.metadata.live_broker_ids()
        assert live == {1}
        await rig.metadata.change(topic("t"))
        assert rig.metadata.live_broker_ids() is live
        await rig.metadata.change(lambda image: decide_fence_broker(image, 1))
        assert rig.metadata.live_broker_ids() == frozenset()

    with_rig(work)


def test_changes_are_decided_one_after_the_other() -> None:
    async def work(rig: QuorumRig) -> None:
        await rig.metadata.change(broker)
        results = await asyncio.gather(*(rig.metadata.change(topic("t")) for _ in range(5)))
        codes = [made.error for [made] in results]
        assert codes.count(ErrorCode.NONE) == 1
        assert codes.count(ErrorCode.TOPIC_ALREADY_EXISTS) == 4

    with_rig(work)


def test_listeners_have_acted_before_the_change_is_answered_and_one_that_fails_stops_nobody() -> None:
    heard: list[str] = []

    async def slow(delta: ImageDelta) -> None:
        await asyncio.sleep(1)
        heard.append("slow")

    def broken(delta: ImageDelta) -> None:
        raise ValueError("a listener with a bug")

    async def work(rig: QuorumRig) -> None:
        rig.metadata.on_change(broken)
        rig.metadata.on_change(slow)
        await rig.metadata.change(broker)
        assert heard == ["slow"]

    with_rig(work)


def test_a_slow_listener_does_not_stop_the_quorum() -> None:
    """Heartbeats of the quorum go on while a broker opens a thousand logs."""

    async def work(rig: QuorumRig) -> None:
        rig.metadata.on_change(lambda _: asyncio.sleep(3600))
        changing = asyncio.ensure_future(rig.metadata.change(broker))
        await asyncio.sleep(60)
        assert not changing.done()
        assert await rig.quorum.do(lambda: rig.quorum.raft.is_leader)
        changing.cancel()

    with_rig(work)


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_disk_that_fails_refuses_every_change_with_the_reason(operation: str) -> None:
    async def work(rig: QuorumRig) -> None:
        await rig.metadata.change(broker)
        rig.disk.fail(operation, "__cluster_metadata")
        [made] = await rig.metadata.change(topic("t"))
        assert made.error is ErrorCode.KAFKA_STORAGE_ERROR
        assert "t" not in rig.metadata.image.topics
        rig.disk.heal()
        [again] = await rig.metadata.change(topic("t"))
        assert again.error is ErrorCode.KAFKA_STORAGE_ERROR, "nobody knows what the disk holds"
        assert not rig.metadata.is_controller
        assert rig.metadata.decides_here, "it is its own to refuse"
        assert rig.roles == [True, False]

    with_rig(work)


def test_without_a_quorum_nothing_is_changed_and_each_item_says_so() -> None:
    async def work(rig: QuorumRig) -> None:
        await asyncio.sleep(10)
        assert not rig.metadata.is_controller
        assert rig.metadata.controller_id is None
        decided = await rig.metadata.change(
            lambda image: decide_create_topics(
                image, [NewTopic("t", 1, 1)], defaults=TopicDefaults(), new_id=new_id
            )
        )
        assert not decided[0].ok
        with pytest.raises(KafkaError) as refused:
            await rig.metadata.change(lambda image: decide_create_cluster(image, cluster_id="c"))
        assert refused.value.code is ErrorCode.NOT_CONTROLLER
        assert {to for to, _ in rig.sent} == {2, 3}, "it asks the others for their votes"

    with_rig(work, voters=(1, 2, 3))


def test_records_on_security_wait_for_their_feature_level() -> None:
    """A broker of an earlier version would stop at them."""

    async def work(rig: QuorumRig) -> None:
        [refused] = await rig.metadata.change(lambda image: decide_put_role(image, "analyst", [ON_ORDERS]))
        assert refused.error is ErrorCode.UNSUPPORTED_VERSION
        assert SECURITY_VERSION in refused.message
        await rig.metadata.change(lambda _: Decision([FeatureChanged(SECURITY_VERSION, 1)], [None]))
        [created] = await rig.metadata.change(lambda image: decide_put_role(image, "analyst", [ON_ORDERS]))
        assert created.ok
        assert "analyst" in rig.metadata.image.security.roles

    with_rig(work)


def no_such_topic(_: ClusterImage) -> Decision[ItemResult]:
    return Decision([], [ItemResult.refused(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))])


def old_news(_: ClusterImage) -> Decision[ItemResult]:
    raise KafkaError(ErrorCode.STALE_BROKER_EPOCH)


def test_only_the_controller_may_say_that_something_is_not_there() -> None:
    async def work(rig: QuorumRig) -> None:
        [answer] = await rig.metadata.change(no_such_topic)
        assert answer.error == ErrorCode.NOT_CONTROLLER
        with pytest.raises(KafkaError) as refused:
            await rig.metadata.change(old_news)
        assert refused.value.code is ErrorCode.NOT_CONTROLLER

    with_rig(work, voters=(1, 2, 3))


def test_refusals_of_the_controller_are_passed_on() -> None:
    async def work(rig: QuorumRig) -> None:
        [answer] = await rig.metadata.change(no_such_topic)
        assert answer.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        with pytest.raises(KafkaError) as refused:
            await rig.metadata.change(old_news)
        assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH

    with_rig(work)


def test_who_waits_for_a_version_waits_no_longer_than_it_takes() -> None:
    async def work(rig: QuorumRig) -> None:
        wanted = rig.metadata.version + 1
        waiting = asyncio.ensure_future(rig.metadata.until(wanted))
        await asyncio.sleep(1)
        assert not waiting.done()
        await rig.metadata.change(broker)
        await asyncio.wait_for(waiting, 1)

    with_rig(work)


def test_messages_of_a_stranger_change_nothing() -> None:
    async def work(rig: QuorumRig) -> None:
        for term in (1, 50, 2**31 - 2):
            rig.quorum.receive(
                RequestVote(
                    sender=99,
                    storage=bytes(16),
                    term=term,
                    address="h:1",
                    last_index=2**40,
                    last_term=term,
                )
            )
        await asyncio.sleep(1)
        assert rig.metadata.is_controller
        await rig.metadata.change(broker)

    with_rig(work)


def test_a_caller_that_gives_up_leaves_no_decision_half_made() -> None:
    async def work(rig: QuorumRig) -> None:
        await rig.metadata.change(broker)
        acting = asyncio.Event()

        async def slow(delta: ImageDelta) -> None:
            acting.set()
            await asyncio.sleep(5)

        rig.metadata.on_change(slow)
        first = asyncio.ensure_future(rig.metadata.change(topic("t")))
        await acting.wait()
        first.cancel()
        [second] = await rig.metadata.change(topic("t"))
        assert second.error is ErrorCode.TOPIC_ALREADY_EXISTS

    with_rig(work)


def test_a_change_is_made_in_the_term_it_was_asked_for_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another controller may have made it meanwhile, and a third one may have undone it since."""

    async def work(rig: QuorumRig) -> None:
        await rig.metadata.change(broker)
        rig.metadata.on_change(lambda _: asyncio.sleep(5))
        first = asyncio.ensure_future(rig.metadata.change(topic("t")))
        second = asyncio.ensure_future(rig.metadata.change(topic("u")))
        await asyncio.sleep(1)
        assert "t" in rig.metadata.image.topics
        term = rig.metadata.term
        monkeypatch.setattr(type(rig.quorum.raft), "term", term + 2)
        assert (await first)[0].ok
        assert (await second)[0].error is ErrorCode.NOT_CONTROLLER
        assert "u" not in rig.metadata.image.topics
        assert (await rig.metadata.change(no_such_topic))[0].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    with_rig(work)


def test_what_cannot_be_applied_is_not_agreed_on() -> None:
    async def work(rig: QuorumRig) -> None:
        await rig.metadata.change(broker)
        before = rig.metadata.version
        with pytest.raises(InvariantError):
            await rig.metadata.change(broker)  # the same epoch again: a decision with a bug
        await asyncio.sleep(1)
        assert rig.metadata.version == before
        assert (await rig.metadata.change(topic("t")))[0].ok

    with_rig(work)


def test_clients_are_sent_to_a_broker_that_they_are_told_about(monkeypatch: pytest.MonkeyPatch) -> None:
    def registered(id: int, epoch: int, fenced: bool) -> Callable[[ClusterImage], Decision[None]]:
        where = Endpoint("PLAINTEXT", "h", 9090 + id)
        record = BrokerRegistered(id, epoch, f"AAAAAAAAAAAAAAAAAAAAA{id}", (where,), fenced=fenced)
        return lambda image: Decision([record], [None])

    async def work(rig: QuorumRig) -> None:
        await rig.metadata.change(registered(1, 0, fenced=False))
        await rig.metadata.change(registered(2, 1, fenced=False))
        assert rig.metadata.advertised_controller == rig.metadata.controller_for_clients == 1
        with monkeypatch.context() as another_leads:
            another_leads.setattr(type(rig.metadata), "controller_id", 2)
            assert rig.metadata.advertised_controller == 2
            assert rig.metadata.controller_for_clients == 1, "it may have died without our knowing"
        await rig.metadata.change(registered(1, 2, fenced=True))
        assert rig.metadata.advertised_controller == rig.metadata.controller_for_clients == 2

    with_rig(work)
