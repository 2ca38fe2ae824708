import pytest
from msgspec.structs import replace

from tidelog.base.errors import ErrorCode
from tidelog.metadata.brokers.features import (
    METADATA_VERSION,
    SUPPORTED_FEATURES,
    FeatureUpdate,
    UpgradeType,
    decide_default_features,
    decide_update_features,
    refusal_of_records,
    supported_features,
)
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.image import (
    CLIENT_METRICS_VERSION,
    ELR_VERSION,
    SECURITY_VERSION,
    SHARE_VERSION,
    ClusterImage,
    advance,
)
from tidelog.metadata.image.records import (
    BrokerRegistered,
    ConfigChanged,
    FeatureChanged,
    FeatureRange,
    ResourceKind,
)
from tidelog.metadata.image.security_records import RoleChanged

ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def test_a_release_does_not_lower_what_is_higher_already(cluster, apply):
    image = apply(cluster(), decide_default_features(cluster()))
    release = [FeatureUpdate(METADATA_VERSION, 30), FeatureUpdate(SHARE_VERSION, 1)]
    decision = decide_update_features(image, release)
    assert decision.results[0].ok
    assert not decision.records
    [alone] = decide_update_features(image, release[1:]).results
    assert not alone.ok


def test_share_groups_come_in_two_steps(cluster):
    image = cluster().apply(FeatureChanged(METADATA_VERSION, 30))
    for level in (1, 2):
        [record] = decide_update_features(image, [FeatureUpdate(SHARE_VERSION, level)]).records
        assert record == FeatureChanged(SHARE_VERSION, level)
        image = image.apply(record)
    [beyond] = decide_update_features(image, [FeatureUpdate(SHARE_VERSION, 3)]).results
    assert "only supports versions 0-2" in beyond.message


def test_new_cluster_uses_all_there_is(apply):
    image = apply(ClusterImage(), decide_default_features(ClusterImage()))
    assert image.features == {feature.name: feature.max_level for feature in SUPPORTED_FEATURES}
    assert not decide_default_features(image).records
    assert advance(ClusterImage(), image_records(image)).after == image


def test_old_clients_get_no_ranges_from_zero():
    assert [feature.name for feature in supported_features(3)] == [METADATA_VERSION]
    assert supported_features(4) == SUPPORTED_FEATURES


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (FeatureUpdate("no.such", 1), "Local controller does not support this feature."),
        (FeatureUpdate("group.version", 2), "Local controller only supports versions 0-1"),
        (FeatureUpdate("group.version", -1), "A feature version cannot be less than 0."),
        (FeatureUpdate("group.version", 1, 9), "does not support the given upgrade type"),
        (FeatureUpdate(METADATA_VERSION, 20), "without setting the upgrade type to either safe or unsafe"),
        (
            FeatureUpdate(METADATA_VERSION, 20, UpgradeType.SAFE_DOWNGRADE),
            "might delete metadata information",
        ),
        (
            FeatureUpdate("group.version", 1, UpgradeType.SAFE_DOWNGRADE),
            "Can't downgrade to a newer version.",
        ),
    ],
)
def test_update_fails_as_a_whole(apply, update, reason):
    image = ClusterImage().apply(FeatureChanged(METADATA_VERSION, 29))
    decision = decide_update_features(image, [FeatureUpdate("kraft.version", 1), update])
    assert not decision.records
    [result] = decision.results
    assert result.error == ErrorCode.INVALID_UPDATE_VERSION
    assert result.message.startswith("The update failed for all features since the following feature had an")
    assert reason in result.message


def test_upgrade(apply):
    image = ClusterImage().apply(FeatureChanged(METADATA_VERSION, 29))
    updates = [FeatureUpdate(METADATA_VERSION, 30), FeatureUpdate("group.version", 0)]
    assert not decide_update_features(image, updates, validate_only=True).records
    decision = decide_update_features(image, updates)
    assert decision.results[0].ok
    delta = advance(image, decision.records)
    assert delta.after.features != delta.before.features
    assert delta.after.features == {METADATA_VERSION: 30}


def test_every_broker_must_support_it(apply):
    old = BrokerRegistered(3, 1, ID, (), features=(FeatureRange("group.version", 0, 0),))
    image = ClusterImage().apply(old)
    assert image.brokers[3].features == old.features
    [result] = decide_update_features(image, [FeatureUpdate("group.version", 1)]).results
    assert "Broker 3 does not support this feature." in result.message


def test_eligible_leader_replicas_are_turned_off_while_there_are_none(apply, with_topic):
    image = with_topic((1, 2)).apply(FeatureChanged(ELR_VERSION, 1))
    lower = [FeatureUpdate(ELR_VERSION, 0, UpgradeType.SAFE_DOWNGRADE)]
    assert not apply(image, decide_update_features(image, lower)).has_elr
    topic = image.topics["t"]
    kept = replace(topic, partitions=(replace(topic.partitions[0], isr=(1,), elr=(2,)),))
    [refused] = decide_update_features(replace(image, topics={"t": kept}), lower).results
    assert "might delete metadata information" in refused.message


def test_security_waits_for_the_last_old_broker(apply):
    """Two versions in a cluster: the old one would stop at a record on security."""
    old = BrokerRegistered(3, 1, ID, (), features=(FeatureRange("group.version", 0, 1),))
    image = ClusterImage().apply(FeatureChanged(METADATA_VERSION, 30)).apply(old)
    assert refusal_of_records(image, [FeatureChanged("group.version", 1)]) is None
    refusal = refusal_of_records(image, [RoleChanged("analyst", ())])
    assert refusal.code is ErrorCode.UNSUPPORTED_VERSION
    assert f"upgrade --feature {SECURITY_VERSION}=1" in refusal.message
    level_1 = [FeatureUpdate(SECURITY_VERSION, 1)]
    [result] = decide_update_features(image, level_1).results
    assert "Broker 3 does not support this feature." in result.message

    image = image.apply(BrokerRegistered(3, 2, ID, (), features=SUPPORTED_FEATURES))
    image = apply(image, decide_update_features(image, level_1))
    assert image.has_security
    assert refusal_of_records(image, [RoleChanged("analyst", ())]) is None


def test_client_metrics_wait_for_the_last_old_broker():
    """An old broker would stop at a setting of a kind of resource that it does not know."""
    image = ClusterImage().apply(FeatureChanged(METADATA_VERSION, 30))
    subscription = ConfigChanged(ResourceKind.CLIENT_METRICS, "s", "metrics", "*")
    assert refusal_of_records(image, [ConfigChanged(ResourceKind.GROUP, "g", "a", "b")]) is None
    refusal = refusal_of_records(image, [subscription])
    assert f"upgrade --feature {CLIENT_METRICS_VERSION}=1" in refusal.message
    assert refusal_of_records(image.apply(FeatureChanged(CLIENT_METRICS_VERSION, 1)), [subscription]) is None
