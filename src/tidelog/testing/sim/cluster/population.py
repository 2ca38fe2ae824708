"""The clients of a run: started, killed and replaced, stopped, and asked what they have to complain of."""

from collections.abc import Iterator

from tidelog.security.acls.vocabulary import Operation as AclOperation
from tidelog.testing.history import Operation
from tidelog.testing.sim.clients.acl_churn import AclChurn
from tidelog.testing.sim.clients.consumer import SimConsumer
from tidelog.testing.sim.clients.copier import Copier
from tidelog.testing.sim.clients.group_ledger import GroupLedger
from tidelog.testing.sim.clients.group_member import SimGroupMember
from tidelog.testing.sim.clients.guarded_client import GuardedClient
from tidelog.testing.sim.clients.permissions import PermissionLedger, Revocation, Sight
from tidelog.testing.sim.clients.producer import SimProducer
from tidelog.testing.sim.clients.streams_member import SimStreamsMember
from tidelog.testing.sim.clients.topic_churn import TopicChurn
from tidelog.testing.sim.clients.transactor import Transactor
from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.cluster.view import View, life_with_acl, transaction_of, views
from tidelog.testing.sim.runtime.life import Life
from tidelog.transactions.transaction import Transaction

AnyClient = (
    SimProducer | SimConsumer | SimGroupMember | TopicChurn | Transactor | Copier | AclChurn | GuardedClient
)


class Population:
    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self._loop = cluster.loop
        self._alive: dict[Life, AnyClient] = {}
        self._gone: list[AnyClient] = []
        self.ledger = GroupLedger("g")
        self.streams_ledger = GroupLedger("s")
        self.permissions = PermissionLedger(lambda acl, host: life_with_acl(cluster, acl, host))
        self._written: dict[str, list[Sight]] = {}

    def start(self) -> None:
        scenario = self._cluster.scenario
        for acks in scenario.acks:
            self._start_producer(acks)
        for _ in range(scenario.consumers):
            self._start_consumer()
        for _ in range(scenario.group_members):
            self._start_member()
        for _ in range(scenario.streams_members):
            self._start_streams_member()
        for number in range(scenario.transactors):
            self._start_transactor(f"tx-{number}")
        if scenario.copier:
            self._start_copier()
        if scenario.topic_churn:
            self._start_churn()
        if scenario.guarded_clients:
            guarded = [self._start_guarded() for _ in range(scenario.guarded_clients)]
            self._start_acl_churn(guarded)

    def _start_producer(self, acks: int) -> None:
        scenario = self._cluster.scenario
        life, client = self._cluster.new_client("p")
        producer = SimProducer(
            self._loop,
            client,
            self._cluster.history,
            topics=scenario.topics,
            acks=acks,
            sends_per_second=scenario.sends_per_second,
        )
        self._begin(life, producer)

    def _start_consumer(self) -> None:
        life, client = self._cluster.new_client("c")
        scenario = self._cluster.scenario
        consumer = SimConsumer(
            self._loop,
            client,
            self._cluster.history,
            scenario.topics,
            committed_only=scenario.has_transactions and client.chance.random() < 0.6,
        )
        self._begin(life, consumer)

    def _start_member(self) -> None:
        life, client = self._cluster.new_client("m")
        topics = self._cluster.scenario.topics
        self._begin(life, SimGroupMember(self._loop, client, self._cluster.history, topics, self.ledger))

    def _start_streams_member(self) -> None:
        life, client = self._cluster.new_client("s")
        plan = self._cluster.scenario
        history, ledger = self._cluster.history, self.streams_ledger
        member = SimStreamsMember(self._loop, client, history, plan.topics, ledger, replicas=plan.replicas)
        self._begin(life, member)

    def _start_transactor(self, transactional_id: str) -> None:
        life, client = self._cluster.new_client("x")
        scenario = self._cluster.scenario
        transactor = Transactor(
            self._loop,
            client,
            self._cluster.history,
            topics=scenario.topics,
            transactional_id=transactional_id,
            second_protocol=client.chance.random() < 0.5,
            look_up=self._transaction_of,
        )
        self._begin(life, transactor)

    def _start_copier(self) -> None:
        life, client = self._cluster.new_client("k")
        topics = self._cluster.scenario.topics
        is_second = client.chance.random() < 0.5
        copier = Copier(
            self._loop,
            client,
            self._cluster.history,
            topics=topics,
            second_protocol=is_second,
            look_up=self._transaction_of,
        )
        self._begin(life, copier)

    def _transaction_of(self, transactional_id: str) -> Transaction | None:
        return transaction_of(views(self._cluster), transactional_id)

    def _start_churn(self) -> None:
        life, client = self._cluster.new_client("a")
        self._begin(life, TopicChurn(self._loop, client, self._cluster.scenario.replicas))

    def _start_guarded(self) -> GuardedClient:
        life, client = self._cluster.new_client("g")
        guarded = GuardedClient(client, self.permissions, self._written)
        self._begin(life, guarded)
        return guarded

    def _start_acl_churn(self, guarded: list[GuardedClient]) -> None:
        hosts = [client.host for client in guarded]
        for each in guarded:
            each.readers = hosts
        life, client = self._cluster.new_client("l")
        operations = (AclOperation.READ, AclOperation.WRITE)
        revocations = [Revocation(host, operation) for host in hosts for operation in operations]
        self._begin(life, AclChurn(client, self.permissions, revocations))

    def _begin(self, life: Life, client: AnyClient) -> None:
        self._alive[life] = client
        self._loop.spawn(life, client.run(), name=life.name)

    def crash_one(self, number: int) -> None:
        """A client dies with what it had under way, and another takes its place."""
        mortal = [life for life, one in self._alive.items() if not isinstance(one, AclChurn | GuardedClient)]
        life = mortal[number % len(mortal)]
        client = self._alive.pop(life)
        self._gone.append(client)
        self._cluster.note(f"{life.name} is killed")
        self._loop.kill(life)
        self._cluster.network.life_died(life, life.name, quietly=False)
        now = self._loop.now
        self._cluster.history.add(Operation(life.name, "crash", started=now, ended=now))
        if isinstance(client, SimProducer):
            self._start_producer(client.acks)
        elif isinstance(client, SimConsumer):
            self._start_consumer()
        elif isinstance(client, SimStreamsMember):
            self._start_streams_member()
        elif isinstance(client, SimGroupMember):
            self._start_member()
        elif isinstance(client, Transactor):
            self._start_transactor(client.transactional_id)
        elif isinstance(client, Copier):
            self._start_copier()
        else:
            self._start_churn()

    def committed(self) -> dict[str, int]:
        """How many transactions each transactional producer that lives has committed."""
        return {
            one.transactional_id: one.committed for one in self._alive.values() if isinstance(one, Transactor)
        }

    def stop_writers(self) -> None:
        for client in self._alive.values():
            if isinstance(client, SimProducer | TopicChurn | Transactor | AclChurn | GuardedClient):
                client.is_stopping = True

    def compare(self, view: View) -> None:
        """What was promised, with what a broker of the healed cluster knows."""
        for client in (*self._alive.values(), *self._gone):
            if isinstance(client, TopicChurn):
                client.compare(dict(view.image.topics))
            if isinstance(client, AclChurn):
                client.compare(view.image.security.acls)

    def stop(self) -> None:
        for client in self._alive.values():
            client.is_stopping = True

    def complaints(self) -> Iterator[str]:
        for client in (*self._alive.values(), *self._gone):
            yield from client.complaints
        yield from self.ledger.complaints
        yield from self.permissions.complaints
        yield from self.streams_ledger.complaints
