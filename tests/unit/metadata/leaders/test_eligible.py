"""Eligible leader replicas (KIP-966): who becomes one, who leads from among them, and what ends it."""

import pytest

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode
from tidelog.metadata.brokers.brokers import (
    decide_fence_broker,
    decide_register_broker,
    decide_unfence_broker,
)
from tidelog.metadata.brokers.features import FeatureUpdate, decide_default_features, decide_update_features
from tidelog.metadata.brokers.registration_rules import CRASHED_SYNCED, Ended, how_it_ended
from tidelog.metadata.configs.alter_configs import (
    ConfigAlteration,
    decide_alter_configs,
    decide_incremental_alter_configs,
)
from tidelog.metadata.configs.edits import ConfigEdit, ConfigOp
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.metadata.image.image import ELR_VERSION, ClusterImage, advance
from tidelog.metadata.image.records import ConfigChanged, Endpoint, FeatureChanged, ResourceKind
from tidelog.metadata.leaders.reassignments import Reassignment, decide_alter_reassignments

MIN = "min.insync.replicas"


@pytest.fixture
def trio(with_topic):
    """Three replicas on three brokers, two of which must be in sync."""
    image = with_topic((1, 2, 3), brokers=3)
    return advance(
        image, [FeatureChanged(ELR_VERSION, 1), ConfigChanged(ResourceKind.BROKER, "", MIN, "2")]
    ).after


def config(image):
    return BrokerConfig().with_dynamic(image.broker_configs.get("", {}), {})


def fence(image, *brokers):
    for broker in brokers:
        image = advance(image, decide_fence_broker(image, broker, config(image)).records).after
    return image


def unfence(image, broker):
    epoch = image.brokers[broker].epoch
    return advance(image, decide_unfence_broker(image, broker, epoch, config(image)).records).after


def register(image, broker, ended):
    decision = decide_register_broker(
        image,
        broker_id=broker,
        epoch=100 + broker,
        incarnation=bytes([broker] * 16),
        endpoints=[Endpoint("PLAINTEXT", "localhost", 9000)],
        directories=image.brokers[broker].directories,
        fenced=True,
        ended=ended,
        config=config(image),
    )
    return advance(image, decision.records).after


def state(image):
    partition = image.partition("t", 0)
    return partition.leader, partition.isr, partition.elr, partition.last_known_elr


def test_who_leaves_a_set_that_is_too_small_stays_eligible(trio):
    image = fence(trio, 1)
    assert state(image) == (2, (2, 3), (), ()), "two are enough"
    image = fence(image, 2)
    assert state(image) == (3, (3,), (2,), ())
    image = fence(image, 3)
    assert state(image) == (NO_LEADER, (), (2, 3), (3,))


def test_an_eligible_replica_leads_without_an_unclean_election(trio):
    image = unfence(fence(trio, 1, 2, 3), 1)
    assert state(image)[0] == NO_LEADER, "it may lack what the others took without it"
    image = unfence(image, 2)
    assert state(image) == (2, (2,), (3,), ())
    assert image.partition("t", 0).leader_epoch > trio.partition("t", 0).leader_epoch


def test_without_the_feature_the_last_one_stays_in_the_set(with_topic):
    image = fence(with_topic((1, 2, 3), brokers=3), 1, 2, 3)
    assert state(image) == (NO_LEADER, (3,), (), ())


def test_a_crash_that_may_have_lost_records_ends_it(trio):
    image = fence(trio, 1, 2, 3)
    assert state(register(image, 2, Ended.CLEAN)) == (NO_LEADER, (), (2, 3), (3,))
    assert state(register(image, 2, Ended.SYNCED)) == (NO_LEADER, (), (2, 3), (3,))
    assert state(register(image, 2, Ended.UNCLEAN)) == (NO_LEADER, (), (3,), (3,))


def test_a_topic_that_asks_for_less_is_not_safe_because_its_broker_syncs(trio):
    image = trio.apply(ConfigChanged(ResourceKind.TOPIC, "t", "durability", "os"))
    image = fence(image, 1, 2, 3)
    assert state(register(image, 2, Ended.SYNCED)) == (NO_LEADER, (), (3,), (3,))


def test_with_nobody_left_to_trust_the_last_leader_leads_again(trio):
    image = fence(trio, 1, 2, 3)
    for broker in (2, 3):
        image = register(image, broker, Ended.UNCLEAN)
    assert state(image) == (NO_LEADER, (), (), (3,))
    assert state(unfence(image, 2))[0] == NO_LEADER
    assert state(unfence(image, 3)) == (3, (3,), (), ())


def test_how_a_process_ended(trio):
    known = trio.brokers[2]
    assert how_it_ended(None, -1) is Ended.CLEAN
    assert how_it_ended(known, known.epoch) is Ended.CLEAN
    assert how_it_ended(known, known.epoch - 1) is Ended.UNCLEAN
    assert how_it_ended(known, -1) is Ended.UNCLEAN
    assert how_it_ended(known, CRASHED_SYNCED) is Ended.SYNCED


def alter(image, kind, name, *edits, how=decide_incremental_alter_configs):
    asked = ConfigAlteration(kind, name, list(edits))
    decision = how(image, [asked], node_id=1, config=config(image))
    return decision.results[0], advance(image, decision.records).after


def test_a_lower_minimum_ends_it_where_enough_are_in_sync_then(trio):
    image = fence(trio, 1, 2)
    for kind, name in ((2, "t"), (4, "")):
        _, lower = alter(image, kind, name, ConfigEdit(MIN, "1"))
        assert state(lower) == (3, (3,), (), ())
        _, higher = alter(image, kind, name, ConfigEdit(MIN, "3"))
        assert state(higher) == (3, (3,), (2,), ())


def test_the_clusters_minimum_cannot_be_removed_nor_a_brokers_be_set(trio):
    removed, image = alter(trio, 4, "", ConfigEdit(MIN, None, ConfigOp.DELETE))
    assert (removed.error, image.broker_configs[""]) == (ErrorCode.INVALID_CONFIG, {MIN: "2"})
    single, _ = alter(trio, 4, "1", ConfigEdit(MIN, "3"))
    assert single.error is ErrorCode.INVALID_CONFIG
    assert "Broker-level min.insync.replicas cannot be altered" in single.message
    replaced, image = alter(trio, 4, "", ConfigEdit("log.retention.ms", "5"), how=decide_alter_configs)
    assert replaced.ok
    assert image.broker_configs[""] == {"log.retention.ms": "5", MIN: "2"}


def test_a_new_cluster_has_it_with_one_minimum_for_all_brokers():
    decision = decide_default_features(ClusterImage(), BrokerConfig({MIN: 2}))
    image = advance(ClusterImage(), decision.records).after
    assert image.has_elr
    assert image.broker_configs == {"": {MIN: "2"}}


def test_an_upgrade_takes_the_minimum_of_single_brokers_away(with_topic):
    old = advance(
        with_topic((1, 2, 3), brokers=3),
        [
            FeatureChanged("metadata.version", 30),
            ConfigChanged(ResourceKind.BROKER, "2", MIN, "1"),
            ConfigChanged(ResourceKind.BROKER, "2", "log.retention.ms", "5"),
        ],
    ).after
    update = [FeatureUpdate(ELR_VERSION, 1)]
    decision = decide_update_features(old, update, config=BrokerConfig({MIN: 2}))
    image = advance(old, decision.records).after
    assert image.has_elr
    assert image.broker_configs == {"2": {"log.retention.ms": "5"}, "": {MIN: "2"}}
    assert not decide_update_features(old, update, validate_only=True).records


def test_a_reassignment_leaves_no_eligible_replica_behind(trio):
    image = fence(trio, 1, 2)
    decision = decide_alter_reassignments(image, [Reassignment("t", 0, (3,))], config=config(image))
    assert state(advance(image, decision.records).after) == (3, (3,), (), ())


def test_who_was_the_last_in_sync_before_the_upgrade_leads_again_after_a_crash(with_topic):
    image = fence(with_topic((1, 2, 3), brokers=3), 1, 2, 3)
    assert state(image) == (NO_LEADER, (3,), (), ())
    image = advance(image, [FeatureChanged(ELR_VERSION, 1)]).after
    image = register(image, 3, Ended.UNCLEAN)
    assert state(image) == (NO_LEADER, (), (), (3,))
    assert state(unfence(image, 3)) == (3, (3,), (), ())
