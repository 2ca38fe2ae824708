"""Which features an upgrade raises, and which brokers keep it from that."""

from tidelog.cli.cluster.features import FeatureChange, FeaturesView, UpgradePlan, plan_upgrade
from tidelog.cli.cluster.upgrade import features_json, supported_text

NEW = {"group.version": (0, 1), "metadata.version": (7, 30), "next.version": (0, 1)}
OLD = {"group.version": (0, 1), "metadata.version": (7, 30)}
LEVELS = {"group.version": 1, "metadata.version": 29}


def test_all_features_are_raised_to_what_every_broker_supports() -> None:
    assert plan_upgrade(FeaturesView(LEVELS, {1: NEW, 2: NEW}, ())) == UpgradePlan(
        [FeatureChange("metadata.version", 29, 30), FeatureChange("next.version", 0, 1)]
    )


def test_nothing_changes_twice() -> None:
    levels = {"group.version": 1, "metadata.version": 30, "next.version": 1}
    assert plan_upgrade(FeaturesView(levels, {1: NEW, 2: NEW}, ())) == UpgradePlan([])


def test_a_broker_of_an_earlier_version_is_named() -> None:
    plan = plan_upgrade(FeaturesView(LEVELS, {1: NEW, 2: OLD, 3: NEW}, ()))
    assert not plan.changes
    [reason] = plan.refusals
    assert reason.startswith("next.version cannot be 1: broker 2 does not support it. Restart it")


def test_a_broker_that_is_away_is_named() -> None:
    plan = plan_upgrade(FeaturesView(LEVELS, {1: NEW}, (2, 3)))
    assert not plan.changes
    [reason] = plan.refusals
    assert "Broker 2 and 3 is registered and does not answer" in reason
    assert "tidelog cluster unregister 2" in reason


def test_a_single_feature_and_a_level_that_no_broker_has() -> None:
    view = FeaturesView(LEVELS, {1: NEW, 2: NEW}, ())
    assert plan_upgrade(view, {"next.version": 1}).changes == [FeatureChange("next.version", 0, 1)]
    [reason] = plan_upgrade(view, {"next.version": 2}).refusals
    assert "no broker supports that level" in reason
    [reason] = plan_upgrade(view, {"typo.version": 1}).refusals
    assert "broker 1 does not support it" in reason


def test_a_level_can_be_lowered_by_name() -> None:
    view = FeaturesView(LEVELS, {1: NEW}, ())
    assert plan_upgrade(view, {"group.version": 0}).changes == [FeatureChange("group.version", 1, 0)]


def test_ranges_are_shown_once_where_brokers_agree() -> None:
    assert supported_text({1: (0, 1), 2: (0, 1)}) == "0 to 1"
    assert supported_text({1: (0, 1), 2: (0, 0)}) == "0 to 1 (broker 1), no (broker 2)"
    shown = features_json(FeaturesView(LEVELS, {1: NEW}, (4,)))
    assert shown["brokers_away"] == [4]
    assert shown["features"][0] == {
        "name": "group.version",
        "level": 1,
        "supported": [{"broker": 1, "min": 0, "max": 1}],
    }
