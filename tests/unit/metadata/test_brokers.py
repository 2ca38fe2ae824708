import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.brokers import decide_create_cluster, decide_register_broker
from tidelog.metadata.image import ClusterImage, advance
from tidelog.metadata.records import Endpoint

HERE = Endpoint("PLAINTEXT", "localhost", 9092)


def register(image, *, epoch, incarnation, endpoints=(HERE,)):
    return decide_register_broker(
        image, broker_id=1, epoch=epoch, incarnation=incarnation, endpoints=endpoints, rack="r"
    )


def test_cluster_is_created_once():
    first = decide_create_cluster(ClusterImage(), cluster_id="one")
    image = advance(ClusterImage(), first.records).after
    again = decide_create_cluster(image, cluster_id="two")
    assert image.cluster_id == "one"
    assert (again.records, again.results) == ([], ["one"])


def test_restarted_broker_replaces_its_registration():
    image = advance(ClusterImage(), register(ClusterImage(), epoch=3, incarnation=b"a" * 16).records).after
    moved = Endpoint("PLAINTEXT", "localhost", 9999)
    decision = register(image, epoch=8, incarnation=b"b" * 16, endpoints=(moved,))
    broker = advance(image, decision.records).after.brokers[1]
    assert (broker.epoch, broker.endpoints, broker.rack) == (8, {"PLAINTEXT": moved}, "r")
    assert decision.results == [8]


def test_the_same_process_keeps_its_epoch():
    image = advance(ClusterImage(), register(ClusterImage(), epoch=3, incarnation=b"a" * 16).records).after
    decision = register(image, epoch=8, incarnation=b"a" * 16)
    assert (decision.records, decision.results) == ([], [3])


def test_two_endpoints_of_one_name():
    with pytest.raises(KafkaError) as caught:
        register(ClusterImage(), epoch=1, incarnation=b"a" * 16, endpoints=(HERE, HERE))
    assert caught.value.code == ErrorCode.INVALID_REGISTRATION
