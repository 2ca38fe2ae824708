"""Who pushes what: matches, subscription ids, intervals, limits on clients and series, expiry."""

import pytest

from tests.rigs.otlp import DELTA, counter, gauge, metrics_data, point
from tidelog.base.client_metrics_settings import ClientMetricsConfig
from tidelog.base.errors import ErrorCode
from tidelog.metrics.clients.instances import ClientInstances
from tidelog.metrics.clients.labels import KeptPoint, kept, labels_of
from tidelog.metrics.clients.otlp import data_points
from tidelog.metrics.clients.subscription import ClientFacts, Subscription, subscription_of

ID = bytes(range(16))
ORDERS = ClientFacts(ID, "orders-1", "apache-kafka-java", "4.3.0", "192.0.2.1", 4711)


def subscription(client: ClientFacts = ORDERS, **texts: str) -> Subscription:
    config = {key.replace("_", "."): text for key, text in texts.items()}
    return subscription_of([ClientMetricsConfig.of(config)], client)


class World:
    def __init__(self, instances_max: int = 100) -> None:
        self.texts: dict[str, dict[str, str]] = {"all": {"metrics": "*", "interval.ms": "1000"}}
        self.instances = ClientInstances(lambda: self.texts, instances_max=instances_max)


@pytest.mark.parametrize(
    ("match", "is_matched"),
    [
        ("client_id=orders-.*", True),
        ("client_id=orders", False),
        ("client_id=orders-.*, client_software_version=4\\..*", True),
        ("client_id=orders-.*,client_software_version=3.*", False),
        ("client_source_address=192\\.0\\..*,client_source_port=4711", True),
        ("client_instance_id=AAECAwQFBgcICQoLDA0ODw", True),
        ("client_software_name=librdkafka", False),
        ("", True),
    ],
)
def test_matches(match: str, is_matched: bool) -> None:
    assert subscription(metrics="a.", match=match).metrics == (("a.",) if is_matched else ())


def test_a_character_beyond_ascii_is_any_character() -> None:
    client = ORDERS._replace(client_id="b\u00fcro")
    assert subscription(client, metrics="a", match="client_id=b.ro").metrics == ("a",)
    assert subscription(client, metrics="a", match="client_id=b\\wro").metrics == ()


def test_of_a_long_client_id_the_beginning_is_matched() -> None:
    client = ORDERS._replace(client_id="a" * 30_000 + "b")
    assert subscription(client, metrics="a", match="client_id=a{512}").metrics == ("a",)


def test_subscriptions_are_joined() -> None:
    configs = [
        ClientMetricsConfig.of({"metrics": "b,a", "interval.ms": "5000"}),
        ClientMetricsConfig.of({"metrics": "b,c", "interval.ms": "2000"}),
        ClientMetricsConfig.of({"metrics": "*", "match": "client_id=other", "interval.ms": "100"}),
    ]
    joined = subscription_of(configs, ORDERS)
    assert (joined.metrics, joined.interval_ms) == (("a", "b", "c"), 2000)
    assert subscription_of(configs, ORDERS._replace(client_id="other")).metrics == ("*",)
    assert subscription_of([], ORDERS).metrics == ()
    assert subscription_of([], ORDERS).interval_ms == 300_000


def test_the_id_changes_with_the_subscription_and_the_client() -> None:
    ids = {
        subscription(metrics="a").id,
        subscription(metrics="b").id,
        subscription(metrics="a", interval_ms="1000").id,
        subscription(ORDERS._replace(instance_id=bytes(16)), metrics="a").id,
    }
    assert len(ids) == 4
    assert all(-(2**31) <= id < 2**31 for id in ids)
    assert subscription(metrics="a").id == subscription(metrics="a").id


def test_names_are_wanted_by_their_beginning() -> None:
    assert subscription(metrics="org.apache.kafka.producer.").wants("org.apache.kafka.producer.x")
    assert not subscription(metrics="org.apache.kafka.producer.").wants("org.apache.kafka.consumer.x")
    assert subscription(metrics="*").wants("x")
    assert not subscription(metrics="").wants("x")


def test_a_client_asks_and_pushes_once_an_interval() -> None:
    instance = World().instances.of(ORDERS, 0)
    assert instance.may_ask(0)
    assert not instance.may_ask(999)
    assert instance.may_push(500)  # the first one comes early
    assert not instance.may_push(600)
    assert not instance.may_push(1499)
    assert instance.may_push(1500)
    assert not instance.may_ask(2000)
    instance.error = ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert instance.may_ask(2000)


def test_a_new_subscription_may_be_asked_for_at_once() -> None:
    world = World()
    instance = world.instances.of(ORDERS, 0)
    old = instance.subscription
    assert instance.may_ask(0)
    assert not instance.may_ask(1)
    world.texts = {**world.texts, "other": {"metrics": "x", "match": "client_id=else"}}
    assert not world.instances.of(ORDERS, 1).may_ask(1), "nothing changed for this client"
    world.texts = {"all": {"metrics": "a"}}
    assert world.instances.of(ORDERS, 2) is instance
    assert instance.subscription.id != old.id
    assert instance.may_ask(2)


def test_clients_expire_and_give_their_room_back() -> None:
    world = World()
    instances = world.instances
    instance = instances.of(ORDERS, 0)
    assert instances.take(instance, points(3), series_max=100) == 0
    instances.expire(60_000)
    assert len(instances) == 1
    instances.expire(60_001)
    assert (len(instances), instances.series) == (0, 0)
    world.texts = {"slow": {"metrics": "*", "interval.ms": "600000"}}
    slow = instances.of(ORDERS, 0)
    instances.expire(899_000)
    assert len(instances) == 1
    slow.is_terminating = True
    instances.expire(60_001)
    assert len(instances) == 0
    assert instances.take(slow, points(3), series_max=100) == 3, "it is forgotten already"
    assert instances.series == 0


def test_the_idlest_client_gives_way() -> None:
    instances = World(instances_max=2).instances
    first, second, third = (ORDERS._replace(instance_id=bytes([n]) * 16) for n in (1, 2, 3))
    for client in (first, second, first, third):
        instances.of(client, 0)
    assert len(instances) == 2
    assert first.instance_id in instances
    assert second.instance_id not in instances


def test_series_are_bounded() -> None:
    instances = World().instances
    first, second = (instances.of(ORDERS._replace(instance_id=bytes([n]) * 16), 0) for n in (1, 2))
    assert instances.take(first, points(6), series_max=10) == 0
    assert instances.take(second, points(6), series_max=10) == 2
    assert instances.take(first, points(8), series_max=10) == 2, "its own are replaced"
    assert instances.series == 10


def test_a_push_replaces_values_and_adds_differences() -> None:
    instances = World().instances
    instance = instances.of(ORDERS, 0)
    for value in (5, 7):
        data = metrics_data(
            gauge("g", point(value)),
            counter("c", point(value)),
            counter("d", point(value), temporality=DELTA),
        )
        pushed = [kept(point) for point in data_points(data) if point is not None]
        instances.take(instance, pushed, series_max=100)
    none = labels_of(())
    assert instance.values == {("g", none): (7, False), ("c", none): (7, True), ("d", none): (12, True)}
    instances.take(instance, [], series_max=100)
    assert instance.values == {}


def points(count: int) -> list[KeptPoint]:
    return [KeptPoint(f"m{number}", (), 1.0, False, False) for number in range(count)]
