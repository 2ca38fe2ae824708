"""A client's values on a page: its labels, and no series twice."""

from tidelog.metrics.clients.instance import ClientInstance
from tidelog.metrics.clients.labels import kept, labels_of
from tidelog.metrics.clients.otlp import DataPoint
from tidelog.metrics.clients.samples import add_samples
from tidelog.metrics.clients.subscription import ClientFacts, Subscription
from tidelog.metrics.page import Page
from tidelog.metrics.text_format import text_of


def test_samples() -> None:
    client = ClientFacts(bytes(range(16)), 'a "b"', "librdkafka", "2.16.1")
    instance = ClientInstance(client, Subscription(1, ("*",), 1000), 0)
    points = [
        DataPoint("records.lag", (("topic", "t"), ("partition", "3"), ("client-id", "a")), 5.0, False, False),
        DataPoint("latency", (("node-id", "1"), ("x", "y"), ("group.id", "g")), 0.5, False, False),
        DataPoint("latency", (("x", "y"), ("node_id", "1"), ("group_id", "g")), 0.7, False, False),
        DataPoint("creations", (), 3, True, False),
    ]
    instance.take([kept(point) for point in points])
    page = Page()
    list(add_samples(page, instance))
    text = "".join(text_of(page, open_metrics=False))
    who = 'client_id="a \\"b\\"",client_instance_id="AAECAwQFBgcICQoLDA0ODw",software="librdkafka/2.16.1"'
    lines = [line.replace(who, "WHO") for line in text.splitlines() if not line.startswith("#")]
    gauge, total = "tidelog_client_metric", "tidelog_client_metric_total"
    assert lines == [
        gauge + '{metric="records.lag",WHO,group="",topic="t",partition="3",node="",detail=""} 5.0',
        gauge + '{metric="latency",WHO,group="g",topic="",partition="",node="1",detail="x=y"} 0.5',
        total + '{metric="creations",WHO,group="",topic="",partition="",node="",detail=""} 3',
    ]


def test_long_values_have_an_end() -> None:
    assert len(labels_of(tuple((f"k{number}", "v" * 50) for number in range(30)))[-1]) == 200


def test_of_many_attributes_only_the_labels_are_kept() -> None:
    attributes = tuple((f"{number:0200}", "v" * 200) for number in range(64))
    point = kept(DataPoint("m", attributes, 1.0, is_counter=False, is_delta=False))
    assert sum(map(len, point.labels)) <= 200
