"""Real brokers with an authorizer, on virtual time and disks in memory: tests send requests as any principal.

A client's connection is made by the test, with the principal that authentication would have given it; the
request then goes the way of every request, through the dispatcher. ACLs are records in the metadata. Brokers
talk to each other on a listener of their own, as `User:ANONYMOUS`, which is a super user.

    def test_it() -> None:
        async def life(cluster: AuthorizedCluster) -> None:
            await cluster.allow("User:alice", Operation.READ, ResourceType.TOPIC, "orders")
            answer = await cluster.ask("User:alice", ApiKey.FETCH, FetchRequest(...))

        with_cluster(life)
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from tests.rigs.persister import FakePersister
from tidelog.base.config.config import load
from tidelog.base.ids import Uuid
from tidelog.base.ports import FileSlice
from tidelog.base.settings.authorization import STANDARD_AUTHORIZER
from tidelog.broker.controller.topic_changes import create
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Services
from tidelog.broker.requests.reply import Reply
from tidelog.metadata.security.acls import decide_create_acls, decide_delete_acls
from tidelog.metadata.topics.create_topics import NewTopic
from tidelog.security.acls.acl import WILDCARD, Acl, AclFilter
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from tidelog.testing.sim.cluster.cluster import SETTINGS
from tidelog.testing.sim.cluster.machine import Machine
from tidelog.testing.sim.network.network import SimNetwork
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.testing.sim.runtime.trace import Trace
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message

CLIENTS, BROKERS = "CLIENTS", "BROKERS"
ADMIN = "User:admin"
BROKER = "User:ANONYMOUS"
CLIENT_HOST = "192.0.2.1"
SIZE_BYTES = 4
ANSWER_SECONDS = 60.0


class Asked(NamedTuple):
    """What a handler asked the authorizer."""

    operation: Operation
    resource_type: ResourceType
    name: str | None
    """None: any resource of the type."""


class RecordingAuthorizer:
    """Stands before a broker's authorizer and writes down the questions about one principal."""

    def __init__(self, inner: Any, principal: str) -> None:
        self.inner = inner
        self._principal = principal
        self.questions: list[Asked] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _record(self, principal: str, *question: Any) -> None:
        if principal == self._principal:
            self.questions.append(Asked(*question))

    def allows(self, principal: str, host: str, operation: Operation, kind: ResourceType, name: str) -> bool:
        self._record(principal, operation, kind, name)
        return self.inner.allows(principal, host, operation, kind, name)  # type: ignore[no-any-return]

    def allows_on_any(self, principal: str, host: str, operation: Operation, kind: ResourceType) -> bool:
        self._record(principal, operation, kind, None)
        return self.inner.allows_on_any(principal, host, operation, kind)  # type: ignore[no-any-return]


class AuthorizedCluster:
    def __init__(self, loop: SimLoop, brokers: int, settings: dict[str, str]) -> None:
        self.loop = loop
        self._network = SimNetwork(loop, random.Random("authorized"), Trace())
        self.machines = [self._machine(id, brokers, settings) for id in range(1, brokers + 1)]

    def _machine(self, id: int, brokers: int, settings: dict[str, str]) -> Machine:
        voters = ",".join(f"{other}@n{other}:9093" for other in range(1, brokers + 1))
        flags = {
            **SETTINGS,
            "node.id": str(id),
            "listeners": f"{CLIENTS}://n{id}:9092,{BROKERS}://n{id}:9093",
            "listener.security.protocol.map": f"{CLIENTS}:PLAINTEXT,{BROKERS}:PLAINTEXT",
            "inter.broker.listener.name": BROKERS,
            "cluster.id": "authorized",
            "durability": "os",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": f"{ADMIN};{BROKER}",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            **({"controller.quorum.voters": voters} if brokers > 1 else {}),
            "auto.create.topics.enable": "true",
            **settings,
        }
        return Machine(
            id,
            load(None, {}, flags),
            loop=self.loop,
            network=self._network,
            seed="authorized",
            note=lambda _: None,
        )

    async def start(self) -> None:
        for machine in self.machines:
            machine.start()
        await self.until(lambda: all(machine.serves for machine in self.machines), "the brokers serve")
        for machine in self.machines:
            services: Any = self.services(machine.id)
            services.persister = services.persister or FakePersister()

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        for _ in range(600):
            if holds():
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"after 30 s it is still not so that {what}")

    def services(self, broker: int = 1) -> Services:
        process = self.machines[broker - 1].process
        assert process is not None
        return process.services

    @property
    def controller(self) -> int:
        """The broker that decides changes of the metadata."""
        return next(m.id for m in self._alive if self.services(m.id).metadata.decides_here)

    @property
    def _alive(self) -> list[Machine]:
        return [machine for machine in self.machines if machine.is_alive]

    # Clients

    def connection(
        self, principal: str, listener: str = CLIENTS, host: str = CLIENT_HOST
    ) -> ClientConnection:
        made = ClientConnection(host, 5555, listener)
        made.principal = principal
        return made

    async def ask(
        self,
        who: str | ClientConnection,
        key: ApiKey,
        request: Message,
        version: int | None = None,
        *,
        broker: int = 1,
    ) -> Any:
        """Send a request as a principal, or on a connection of its own; None where there is no response.

        Raises ProtocolError where the broker would close the connection, and ConnectionError for a reply that
        closes it.
        """
        connection = self.connection(who) if isinstance(who, str) else who
        version = API[key].max_version if version is None else version
        parts = write_request(key, version, 7, "rig", request)
        reply = await self.send(_joined(parts)[SIZE_BYTES:], connection, broker=broker)
        if reply is None:
            return None
        if reply.close:
            raise ConnectionError("the broker closes the connection")
        return read_response(key, version, memoryview(_joined(reply.parts))[SIZE_BYTES:])[1]

    async def send(self, frame: bytes, connection: ClientConnection, *, broker: int = 1) -> Reply | None:
        machine = self.machines[broker - 1]
        server = self._network.server_at((machine.host, 9092))
        assert server is not None
        assert machine.life is not None

        async def dispatched() -> Reply | None:
            reply = server.dispatcher.dispatch(memoryview(bytearray(frame)), connection)
            if reply is None or isinstance(reply, Reply):
                return reply
            done = asyncio.Event()
            reply.add_done_callback(lambda _: done.set())
            await done.wait()
            return reply.result()

        async with asyncio.timeout(ANSWER_SECONDS):
            return await self.loop.spawn(machine.life, dispatched(), name="a client's request")

    def record(self, principal: str, broker: int = 1) -> list[Asked]:
        """Returns a list that grows with the questions that handlers ask about the principal from now on."""
        services: Any = self.services(broker)
        authorizer = services.authorizer
        recorder = RecordingAuthorizer(getattr(authorizer, "inner", authorizer), principal)
        services.authorizer = recorder
        return recorder.questions

    # Metadata

    async def create_topic(self, name: str, partitions: int = 1, replicas: int = 1) -> Uuid:
        [created] = await self._on_controller(
            lambda services: create(services, [NewTopic(name, partitions, replicas)], validate_only=False)
        )
        assert not created.error, created
        await self.until_applied()
        return self.services().metadata.image.topics[name].id

    async def allow(
        self,
        principal: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str = CLUSTER_NAME,
        *,
        pattern: PatternType = PatternType.LITERAL,
        permission: Permission = Permission.ALLOW,
        host: str = WILDCARD,
    ) -> None:
        acl = Acl(resource_type, pattern, name, principal, host, operation, permission)
        await self.create_acls([acl])

    async def create_acls(self, acls: Sequence[Acl]) -> None:
        results = await self._on_controller(
            lambda services: services.metadata.change(lambda image: decide_create_acls(image, acls))
        )
        assert not any(result.error for result in results), results
        await self.until_applied()

    async def revoke(self, principal: str) -> None:
        """Delete all ACLs of the principal."""
        chosen = AclFilter(principal=principal)
        await self._on_controller(
            lambda services: services.metadata.change(lambda image: decide_delete_acls(image, [chosen]))
        )
        await self.until_applied()

    async def until_applied(self) -> None:
        """Every broker has applied what the controller has."""
        version = self.services(self.controller).metadata.version
        await self.until(
            lambda: all(self.services(m.id).metadata.version >= version for m in self._alive),
            f"all brokers have applied version {version}",
        )

    async def _on_controller(self, work: Callable[[Services], Any]) -> Any:
        await self.until(
            lambda: any(self.services(m.id).metadata.decides_here for m in self._alive), "one decides"
        )
        machine = self.machines[self.controller - 1]
        assert machine.life is not None

        async def decided() -> Any:
            return await work(self.services(machine.id))

        return await self.loop.spawn(machine.life, decided())


def with_cluster(
    life: Callable[[AuthorizedCluster], Awaitable[None]], *, brokers: int = 1, **settings: str
) -> None:
    """Start brokers, run the test's coroutine, and require that no callback failed. `a_b` sets `a.b`."""
    loop = SimLoop()
    cluster = AuthorizedCluster(
        loop, brokers, {name.replace("_", "."): text for name, text in settings.items()}
    )

    async def whole() -> None:
        await cluster.start()
        await life(cluster)

    try:
        loop.run_until_complete(whole())
        assert not loop.errors, loop.errors
    finally:
        loop.close()


def _joined(parts: Sequence[Any]) -> bytes:
    return b"".join(part.read() if isinstance(part, FileSlice) else part for part in parts)
