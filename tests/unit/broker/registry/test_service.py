"""Calls at any broker of a cluster: the leader of `_schemas` answers, wherever it moves."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tidelog.base.errors import ErrorCode
from tidelog.broker.peers.peers import LINKS_MAX
from tidelog.broker.registry.calls import JUDGE, Answer, Call
from tidelog.broker.registry.leading import Leading
from tidelog.broker.registry.outcome import Again
from tidelog.broker.registry.service import RegistryService
from tidelog.metadata.topics.names import SCHEMAS
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.registry_call import RegistryCallRequest, RegistryCallResponse

GET = Call("GET", "/config", principal=ADMIN)
LEVELS = ("NONE", "BACKWARD", "FORWARD", "FULL")


def put(level: str) -> Call:
    return Call("PUT", "/config", body=json.dumps({"compatibility": level}).encode(), principal=ADMIN)


def service(cluster: AuthorizedCluster, broker: int) -> RegistryService:
    registry = cluster.services(broker).registry
    assert registry is not None
    return registry.service


async def answered(cluster: AuthorizedCluster, call: Call, broker: int = 1) -> Answer:
    """As a client of the broker: the call ends with the broker's process."""
    life = cluster.machines[broker - 1].life
    return await cluster.loop.spawn(life, service(cluster, broker).call(call), name="a call")  # type: ignore[arg-type]


def level(answer: Answer) -> str:
    assert answer.status == 200, answer
    found: str = json.loads(answer.body)["compatibilityLevel"]
    return found


def message(answer: Answer) -> str:
    found: str = json.loads(answer.body)["message"]
    return found


def leader(cluster: AuthorizedCluster, broker: int) -> int:
    found = service(cluster, broker).coordinator.leader
    assert found is not None
    return found


def with_registry(life: Callable[[AuthorizedCluster], Awaitable[None]], brokers: int = 3) -> None:
    with_cluster(life, brokers=brokers, schema_registry_port="-1")


def test_a_registry_without_schemas_is_empty_at_every_broker_and_has_no_topic() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        for broker in (1, 2, 3):
            assert level(await answered(cluster, GET, broker)) == "BACKWARD"
            refused = await answered(cluster, Call("DELETE", "/subjects/none", principal=ADMIN), broker)
            assert (refused.status, json.loads(refused.body)["error_code"]) == (404, 40401)
        assert cluster.services().metadata.image.topic(SCHEMAS) is None

    with_registry(life)


def test_the_first_change_creates_the_topic_and_every_broker_sees_every_change() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        for at, wanted in enumerate(LEVELS):
            changed = await answered(cluster, put(wanted), 1 + at % 3)
            assert changed.status == 200, changed
            for broker in (1, 2, 3):
                assert level(await answered(cluster, GET, broker)) == wanted
        topic = cluster.services().metadata.image.topics[SCHEMAS]
        assert [len(one.replicas) for one in topic.partitions] == [3]
        hosting = leader(cluster, 1)
        hosted = cluster.services(hosting).partitions.find(SCHEMAS, 0)
        assert (hosted.log.config.compact, hosted.log.config.delete) == (True, False)

    with_registry(life)


def test_changes_at_all_brokers_at_once_create_one_topic_and_none_is_lost() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        def changed(number: int) -> Awaitable[Answer]:
            call = put(LEVELS[number % len(LEVELS)])._replace(path=f"/config/subject-{number}")
            return answered(cluster, call, 1 + number % 3)

        answers = await asyncio.gather(*map(changed, range(30)))
        assert {answer.status for answer in answers} == {200}
        for number in range(30):
            read = await answered(cluster, GET._replace(path=f"/config/subject-{number}"), 1 + number % 2)
            assert level(read) == LEVELS[number % len(LEVELS)]

    with_registry(life)


def test_calls_follow_the_leader_when_it_dies() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await answered(cluster, put("FULL"))
        old = leader(cluster, 1)
        other = 1 + old % 3
        cluster.machines[old - 1].kill()
        assert level(await answered(cluster, GET, other)) == "FULL"
        assert (await answered(cluster, put("NONE"), other)).status == 200
        assert level(await answered(cluster, GET, other)) == "NONE"
        assert leader(cluster, other) != old

    with_registry(life)


class LosingPeers:
    """Lets the leader act, and loses its answer, so many times."""

    def __init__(self, inner: Any, losses: int) -> None:
        self.inner = inner
        self.left = losses
        self.sent = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def call(self, node: int, api: int, version: int, request: Any, **more: Any) -> Any:
        answer = await self.inner.call(node, api, version, request, **more)
        if api == ApiKey.REGISTRY_CALL:
            self.sent += 1
            if self.left:
                self.left -= 1
                raise ConnectionResetError("the answer is lost")
        return answer


def test_a_change_whose_answer_is_lost_is_sent_again_but_not_a_deletion() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await answered(cluster, put("FULL"))
        other = 1 + leader(cluster, 1) % 3
        services: Any = cluster.services(other)
        services.peers = losing = LosingPeers(services.peers, 2)
        assert (await answered(cluster, put("NONE"), other)).status == 200
        assert losing.sent == 3
        losing.left, losing.sent = 1, 0
        deleted = await answered(cluster, Call("DELETE", "/config", principal=ADMIN), other)
        assert (losing.sent, deleted.status, json.loads(deleted.body)["error_code"]) == (1, 500, 50002)
        assert "It is not known whether the deletion took effect" in message(deleted)
        assert level(await answered(cluster, GET, other)) == "BACKWARD", "this one did"

    with_registry(life)


class DeadlyPeers:
    """Each broker that takes a call loses the lead before it answers, and the next broker has it."""

    def __init__(self, inner: Any, service: RegistryService) -> None:
        self.inner = inner
        self.service = service
        self.taken_by: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def call(self, node: int, api: int, version: int, request: Any, **more: Any) -> Any:
        if api != ApiKey.REGISTRY_CALL:
            return await self.inner.call(node, api, version, request, **more)
        self.taken_by.append(node)
        coordinator: Any = self.service.coordinator
        coordinator.leader = 100 + len(self.taken_by)
        raise ConnectionResetError("the leader is gone")


def test_a_call_that_leaders_do_not_survive_is_not_sent_to_one_after_the_other() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await answered(cluster, put("FULL"))
        other = 1 + leader(cluster, 1) % 3
        services: Any = cluster.services(other)
        coordinator: Any = SimpleNamespace(has_topic=True, leader=100)
        deadly = service(cluster, other)
        deadly.coordinator = coordinator
        services.peers = peers = DeadlyPeers(services.peers, deadly)
        refused = await answered(cluster, put("NONE"), other)
        assert peers.taken_by == [100, 101]
        assert refused.status == 503
        assert "brokers 100, 101 took this call and did not answer" in message(refused)

    with_registry(life)


def test_without_a_majority_a_call_ends_with_a_reason() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await answered(cluster, put("FULL"))
        alone = leader(cluster, 1)
        for machine in cluster.machines:
            if machine.id != alone:
                machine.kill()
        began = cluster.loop.time()
        refused = await answered(cluster, put("NONE"), alone)
        assert refused.status == 503
        assert "The schema registry is not available" in message(refused)
        assert cluster.loop.time() - began < 60

    with_registry(life)


def test_a_leader_that_does_not_serve_the_registry_is_named() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await answered(cluster, put("FULL"))
        leading = leader(cluster, 1)
        cluster.services(leading).registry = None
        refused = await answered(cluster, GET, 1 + leading % 3)
        assert refused.status == 503
        assert f"it is off on broker {leading}" in message(refused)
        assert "schema.registry.port" in message(refused)

    with_registry(life)


@pytest.mark.parametrize("code", [ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INCONSISTENT_CLUSTER_ID])
def test_only_brokers_of_this_cluster_pass_calls_on(code: ErrorCode) -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        id = cluster.services().metadata.image.cluster_id
        is_foreign = code is ErrorCode.INCONSISTENT_CLUSTER_ID
        request = RegistryCallRequest(cluster_id="other" if is_foreign else id, method="GET", path="/config")
        who = ADMIN if is_foreign else "User:eve"
        connection = cluster.connection(who, "BROKERS")
        answer: RegistryCallResponse = await cluster.ask(connection, ApiKey.REGISTRY_CALL, request)
        assert (answer.error_code, answer.status) == (code, 0)

    with_registry(life, brokers=1)


def test_a_topic_that_cannot_hold_a_registry_is_refused_with_what_to_do() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic(SCHEMAS, partitions=2)
        refused = await answered(cluster, GET)
        assert (refused.status, "has 2 partitions" in message(refused)) == (503, True)

    async def expiring(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic(SCHEMAS)
        refused = await answered(cluster, GET)
        assert refused.status == 503
        assert "tidelog config set topic _schemas cleanup.policy=compact" in message(refused)

    with_registry(life, brokers=1)
    with_registry(expiring, brokers=1)


@pytest.mark.parametrize("is_sent", [False, True])
def test_an_answer_that_brokers_do_not_pass_on_is_refused_everywhere(is_sent: bool) -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await answered(cluster, put("FULL"))
        leading = leader(cluster, 1)
        size = 30 << 20  # more than a message without records may have

        async def large(call: Call, leading: Leading) -> Answer:
            return Answer(200, bytes(size))

        here: Any = service(cluster, leading).here
        here._answering = large
        broker = 1 + leading % 3 if is_sent else leading
        assert len((await answered(cluster, GET, broker)).body) == size
        size = (96 << 20) + 1
        refused = await answered(cluster, GET, broker)
        assert (refused.status, "offset and limit" in message(refused)) == (422, True)

    with_registry(life)


def test_schemas_are_found_by_id_while_others_take_long_to_be_checked() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await answered(cluster, put("FULL"))
        leading = leader(cluster, 1)
        is_checked = asyncio.Event()

        async def slow(call: Call, leading: Leading) -> Answer:
            if call.method == "POST":
                await is_checked.wait()
            return Answer(200, b"{}")

        here: Any = service(cluster, leading).here
        here._answering = slow
        other = 1 + leading % 3
        post = Call("POST", "/subjects/s/versions", principal=ADMIN)
        posts = [asyncio.ensure_future(answered(cluster, post, other)) for _ in range(2 * LINKS_MAX)]
        await asyncio.sleep(0.1)
        async with asyncio.timeout(1):
            assert (await answered(cluster, GET, other)).status == 200
            judged = await answered(cluster, Call(JUDGE, "/", body=b"[]"), other)
            assert judged.status == 200, "producers wait for it"
        assert not any(one.done() for one in posts)
        is_checked.set()
        assert {one.status for one in await asyncio.gather(*posts)} == {200}

    with_registry(life)


def test_an_error_of_our_own_is_not_hidden() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        async def broken(call: Call, leading: Leading) -> Answer:
            raise ZeroDivisionError

        here: Any = service(cluster, 1).here
        here._answering = broken
        with pytest.raises(ZeroDivisionError):
            await answered(cluster, GET)

    with_registry(life, brokers=1)


def test_calls_are_counted_by_method_and_class_of_status() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await answered(cluster, GET)
        await answered(cluster, GET)
        await answered(cluster, put("FULL"))
        await answered(cluster, Call("GET", "/nothing", principal=ADMIN))
        tally = service(cluster, 1).tally
        assert tally.calls == {("GET", "2xx"): 2, ("PUT", "2xx"): 1, ("GET", "4xx"): 1}
        assert tally.seconds["GET"].count == 3

    with_registry(life, brokers=1)


def test_a_try_without_an_answer_crosses_the_wire_as_it_is() -> None:
    from tidelog.broker.registry.messages import call_of, outcome_of, request_of, response_of

    for may_have_run in (False, True):
        for is_final in (False, True):
            again = Again("why", may_have_run, is_final)
            assert outcome_of(response_of(again)) == again
    answer = Answer(404, b"{}")
    assert outcome_of(response_of(answer)) == answer
    call = Call("PUT", "/config/a%2Fb", "force=true", b"{}", "User:ann", "192.0.2.7")
    assert call_of(request_of(call, "cluster")) == call
