import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.brokers.features import SUPPORTED_FEATURES
from tidelog.metadata.brokers.registration_rules import check_directories, check_endpoints, check_features
from tidelog.metadata.image.image import SECURITY_VERSION
from tidelog.metadata.image.records import Endpoint, FeatureChanged, FeatureRange

HERE = Endpoint("PLAINTEXT", "localhost", 9092)


def test_two_endpoints_of_one_name():
    check_endpoints([HERE])
    with pytest.raises(KafkaError) as caught:
        check_endpoints([HERE, HERE])
    assert caught.value.code == ErrorCode.INVALID_REGISTRATION


@pytest.mark.parametrize(
    ("directories", "reason"),
    [
        ([bytes(16)], "Reserved directory ID"),
        ([b"x" * 16, b"x" * 16], "Duplicate directory ID"),
        (
            [(2002).to_bytes(16, "big")],
            "Broker 2 is already registered with directory AAAAAAAAAAAAAAAAAAAH0g",
        ),
    ],
)
def test_directories_that_cannot_be_right(cluster, directories, reason):
    with pytest.raises(KafkaError, match=reason) as caught:
        check_directories(cluster(2), 1, directories)
    assert caught.value.code == ErrorCode.INVALID_REGISTRATION


def test_own_directories_again(cluster):
    check_directories(cluster(2), 2, [(2002).to_bytes(16, "big")])


def test_broker_must_support_what_the_cluster_uses(cluster):
    image = cluster().apply(FeatureChanged("group.version", 1))
    check_features(image, [])
    check_features(image, [FeatureRange("group.version", 0, 1)])
    for features in ([FeatureRange("group.version", 2, 3)], [FeatureRange("other", 0, 1)]):
        with pytest.raises(
            KafkaError, match=r"does not support finalized version 1 of group\.version"
        ) as caught:
            check_features(image, features)
        assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_a_broker_without_security_cannot_join_a_cluster_that_uses_it(cluster):
    """It would stop at the first ACL of the metadata log."""
    image = cluster().apply(FeatureChanged(SECURITY_VERSION, 1))
    check_features(image, SUPPORTED_FEATURES)
    with pytest.raises(KafkaError, match=SECURITY_VERSION) as caught:
        check_features(image, [feature for feature in SUPPORTED_FEATURES if feature.name != SECURITY_VERSION])
    assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION
