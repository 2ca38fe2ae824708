"""How brokers come into a cluster, are kept alive by heartbeats, fall silent, and leave in order."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.rigs.quorum import QuorumRig
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.base.ids import NO_EPOCH, NodeId, Uuid
from tidelog.broker.controller.broker_lifecycle import BrokerLifecycle
from tidelog.broker.controller.controller import Controller
from tidelog.metadata.brokers.heartbeats import Heartbeat
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.records import Endpoint
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.broker_heartbeat import BrokerHeartbeatResponse
from tidelog.wire.messages.broker_registration import BrokerRegistrationResponse


def uuid(number: int) -> Uuid:
    return number.to_bytes(16, "big")


def broker(id: NodeId, *, process: int = 1, log_dir: int | None = None) -> BrokerImage:
    return BrokerImage(
        id,
        NO_EPOCH,
        uuid(1000 * id + process),
        {"PLAINTEXT": Endpoint("PLAINTEXT", f"host-{id}", 9092)},
        directories=(uuid(100 + id if log_dir is None else log_dir),),
    )


class World:
    """A controller, and brokers that reach it directly; while `is_isolated` nobody does."""

    def __init__(self, rig: QuorumRig) -> None:
        self.rig = rig
        self.controller = Controller(rig.metadata, rig.clock, rig.random, "the-cluster")
        rig.applier.on_role_change = self.controller.on_role_change
        self.controller.on_role_change(True)
        self.is_isolated = False
        self.failed: list[Uuid] = []

    def member(self, me: BrokerImage) -> BrokerLifecycle:
        peers: Any = self
        member = BrokerLifecycle(
            self.rig.metadata,
            peers,
            self.rig.clock,
            lambda: me,
            lambda: self.failed,
            previous_epoch=lambda: -1,
        )
        self.rig.metadata.node_id = me.id
        return member

    async def call_controller(
        self,
        api_key: ApiKey,
        version: int,
        request: Any,
        *,
        timeout: float,  # noqa: ASYNC109
    ) -> Any:
        await asyncio.sleep(0.001)
        if self.is_isolated:
            await asyncio.sleep(timeout)
            raise ConnectionError("no way")
        try:
            if api_key is ApiKey.BROKER_REGISTRATION:
                where = request.listeners[0]
                asking = BrokerImage(
                    request.broker_id,
                    NO_EPOCH,
                    request.incarnation_id,
                    {where.name: Endpoint(where.name, where.host, where.port)},
                    directories=tuple(request.log_dirs),
                )
                node_id, self.rig.metadata.node_id = self.rig.metadata.node_id, 99
                try:
                    epoch = await self.controller.register(asking, request.cluster_id)
                finally:
                    self.rig.metadata.node_id = node_id
                return BrokerRegistrationResponse(broker_epoch=epoch)
            beat = Heartbeat(
                request.broker_id,
                request.broker_epoch,
                request.current_metadata_offset,
                request.want_fence,
                request.want_shut_down,
                request.offline_log_dirs,
            )
            answer = await self.controller.heartbeat(beat)
            return BrokerHeartbeatResponse(
                is_fenced=answer.is_fenced, should_shut_down=answer.should_shut_down
            )
        except KafkaError as error:
            shape = (
                BrokerRegistrationResponse
                if api_key is ApiKey.BROKER_REGISTRATION
                else BrokerHeartbeatResponse
            )
            return shape(error_code=error.code)

    def is_fenced(self, id: NodeId) -> bool:
        return self.rig.metadata.image.brokers[id].fenced


def in_world(work: Callable[[World], Awaitable[None]]) -> None:
    async def life() -> None:
        rig = QuorumRig()
        await rig.start()
        world = World(rig)
        try:
            await work(world)
        finally:
            await world.controller.close()
            await rig.stop()

    run(life())


def test_a_broker_comes_in_fenced_and_is_let_in_by_its_heartbeats() -> None:
    async def work(world: World) -> None:
        member = world.member(broker(1))
        await member.register()
        assert world.rig.metadata.image.cluster_id == "the-cluster"
        assert world.is_fenced(1)
        member.start()
        await asyncio.wait_for(member.until_unfenced(), 5)
        assert not world.is_fenced(1)
        await asyncio.sleep(60)
        assert not world.is_fenced(1), "heartbeats keep it in"
        await member.stop()

    in_world(work)


def test_a_silent_broker_is_fenced_and_let_in_again_when_it_is_heard() -> None:
    async def work(world: World) -> None:
        member = world.member(broker(1))
        await member.register()
        member.start()
        await member.until_unfenced()
        world.is_isolated = True
        await asyncio.sleep(8)
        assert not world.is_fenced(1), "the session is nine seconds"
        await asyncio.sleep(4)
        assert world.is_fenced(1)
        world.is_isolated = False
        await asyncio.sleep(5)
        assert not world.is_fenced(1)
        await member.stop()

    in_world(work)


def test_a_restarted_broker_need_not_wait_for_its_old_session() -> None:
    """Its log dir proves that the old process is gone: a log dir has one owner at a time."""

    async def work(world: World) -> None:
        first = world.member(broker(1, process=1))
        await first.register()
        before = first.epoch
        second = world.member(broker(1, process=2))
        await asyncio.wait_for(second.register(), 1)
        assert second.epoch > before

    in_world(work)


def test_a_second_broker_with_the_same_id_is_refused_with_the_reason() -> None:
    async def work(world: World) -> None:
        first = world.member(broker(1, process=1))
        await first.register()
        first.start()
        await first.until_unfenced()
        second = world.member(broker(1, process=2, log_dir=555))
        with pytest.raises(StorageError, match=r"node\.id 1 is alive at host-1:9092"):
            await second.register()
        assert not world.is_fenced(1)
        assert world.rig.metadata.image.brokers[1].incarnation == uuid(1001)
        await first.stop()

    in_world(work)


def test_registration_waits_for_a_controller() -> None:
    async def work(world: World) -> None:
        world.is_isolated = True
        member = world.member(broker(1))
        registering = asyncio.ensure_future(member.register())
        await asyncio.sleep(100)
        assert not registering.done()
        world.is_isolated = False
        await asyncio.wait_for(registering, 10)

    in_world(work)


def test_a_broker_that_leaves_is_fenced_at_once() -> None:
    async def work(world: World) -> None:
        stays = world.member(broker(2))
        await stays.register()
        leaves = world.member(broker(1))
        await leaves.register()
        leaves.start()
        await leaves.until_unfenced()
        began = world.rig.clock.monotonic()
        await leaves.leave(10)
        assert world.rig.clock.monotonic() - began < 2
        assert world.is_fenced(1)
        await leaves.stop()

    in_world(work)


def test_a_broker_that_nobody_hears_leaves_when_its_time_is_up() -> None:
    async def work(world: World) -> None:
        member = world.member(broker(1))
        await member.register()
        member.start()
        await member.until_unfenced()
        world.is_isolated = True
        began = world.rig.clock.monotonic()
        await member.leave(10)
        assert 9.9 <= world.rig.clock.monotonic() - began <= 11
        await member.stop()

    in_world(work)


def test_a_broker_without_a_log_dir_left_is_fenced_and_stays_so() -> None:
    async def work(world: World) -> None:
        other = world.member(broker(2))
        await other.register()
        member = world.member(broker(1))
        await member.register()
        member.start()
        await member.until_unfenced()
        assert member.failure is None
        world.failed = [uuid(101)]
        await asyncio.sleep(5)
        assert world.is_fenced(1)
        assert isinstance(member.failure, StorageError)
        await asyncio.sleep(20)
        assert world.is_fenced(1)
        await member.stop()

    in_world(work)


def test_the_controller_hears_where_replicas_are_before_it_hears_of_a_failed_log_dir() -> None:
    """Of one that has left the log dir just before, it would think that it began anew, without records."""

    async def work(world: World) -> None:
        member = world.member(replace(broker(1), directories=(uuid(101), uuid(102))))
        online: list[tuple[Uuid, ...]] = []

        async def report() -> None:
            await asyncio.sleep(0.01)
            online.append(world.rig.metadata.image.brokers[1].directories)

        member.report_log_dirs = report
        await member.register()
        member.start()
        await member.until_unfenced()
        assert online == []
        world.failed = [uuid(101)]
        await asyncio.sleep(10)
        assert online == [(uuid(101), uuid(102))]
        assert world.rig.metadata.image.brokers[1].directories == (uuid(102),)
        await member.stop()

    in_world(work)


def test_an_unregistered_broker_registers_anew() -> None:
    async def work(world: World) -> None:
        from tidelog.metadata.brokers.brokers import decide_unregister_broker

        member = world.member(broker(1))
        await member.register()
        member.start()
        await member.until_unfenced()
        before = member.epoch
        await world.rig.metadata.change(lambda image: decide_unregister_broker(image, 1))
        await asyncio.sleep(10)
        assert member.epoch > before
        assert not world.is_fenced(1)
        await member.stop()

    in_world(work)


def test_a_broker_of_another_cluster_is_refused() -> None:
    async def work(world: World) -> None:
        with pytest.raises(KafkaError) as refused:
            await world.controller.register(broker(1), "another-cluster")
        assert refused.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID
        assert world.rig.metadata.image.brokers == {}

    in_world(work)


def test_a_broker_is_registered_when_it_knows_so_itself() -> None:
    async def work(world: World) -> None:
        from tidelog.metadata.brokers.brokers import decide_create_cluster

        async def later(epoch: int) -> None:
            await asyncio.sleep(1)
            node_id, world.rig.metadata.node_id = world.rig.metadata.node_id, 99
            await world.controller.register(broker(1), "")
            world.rig.metadata.node_id = node_id

        async def answer_first(*_: Any, **__: Any) -> BrokerRegistrationResponse:
            # Another entry takes the place in the log that the epoch was read off.
            epoch = world.rig.metadata.version + 1
            await world.rig.metadata.change(lambda image: decide_create_cluster(image, cluster_id="c"))
            assert world.rig.metadata.version >= epoch
            tasks.append(asyncio.get_running_loop().create_task(later(epoch)))
            return BrokerRegistrationResponse(broker_epoch=epoch)

        tasks: list[asyncio.Task[None]] = []
        member = world.member(broker(1))
        world.call_controller = answer_first  # type: ignore[method-assign]
        await world.controller.close()
        await member.register()
        assert 1 in world.rig.metadata.image.brokers

    in_world(work)


def test_a_broker_that_cannot_follow_the_metadata_does_not_wait_to_be_let_in() -> None:
    async def work(world: World) -> None:
        member = world.member(broker(1))
        world.is_isolated = True
        registering = asyncio.get_running_loop().create_task(member.register())
        await asyncio.sleep(1)
        world.rig.quorum.failure = StorageError("the disk failed")
        with pytest.raises(StorageError, match="the disk failed"):
            await asyncio.wait_for(registering, 60)
        with pytest.raises(StorageError, match="the disk failed"):
            await asyncio.wait_for(member.until_unfenced(), 60)

    in_world(work)


def test_a_bug_of_the_controller_on_the_same_broker_does_not_end_its_heartbeats() -> None:
    async def work(world: World) -> None:
        member = world.member(broker(1))
        await member.register()
        member.start()
        await member.until_unfenced()
        answer = world.call_controller

        async def broken(*_: Any, **__: Any) -> Any:
            raise ValueError("a bug")

        world.call_controller = broken  # type: ignore[method-assign]
        await asyncio.sleep(5)
        world.call_controller = answer  # type: ignore[method-assign]
        await asyncio.sleep(30)
        assert not world.is_fenced(1)
        await member.stop()

    in_world(work)


@pytest.mark.parametrize("turns", range(5))
def test_a_broker_stops_though_it_is_woken_at_the_same_moment(turns: int) -> None:
    async def work(world: World) -> None:
        member = world.member(broker(1))
        await member.register()
        member.start()
        await member.until_unfenced()
        await asyncio.sleep(0.7)  # it waits for its next heartbeat
        member._nudge.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await member.stop()

    in_world(work)
