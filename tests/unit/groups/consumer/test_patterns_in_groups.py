"""Subscriptions by regular expression: resolved by the broker, followed as topics come and go."""

import pytest

from tidelog.base.errors import ErrorCode


@pytest.fixture
def shop(make_club):
    return make_club(**{"orders-eu": 1, "orders-us": 1, "payments": 1})


def by_regex(club, name, regex, **options):
    return club.consumer(name, subscribed_topic_names=None, subscribed_topic_regex=regex, **options)


def test_the_whole_name_must_match(shop):
    one = by_regex(shop, "one", "orders-.*")
    assert one.partitions == ["orders-eu0", "orders-us0"]
    assert by_regex(shop, "two", "orders").partitions == []


def test_new_and_deleted_topics_are_followed(shop):
    one = by_regex(shop, "one", "orders-.*")
    shop.set_topics(**{"orders-eu": 1, "orders-asia": 2, "other": 1})
    one.follow()
    one.follow()
    assert one.partitions == ["orders-asia0", "orders-asia1", "orders-eu0"]


def test_names_and_expressions_add_up(shop):
    one = shop.consumer("one", subscribed_topic_names=("payments",), subscribed_topic_regex=".*-eu")
    assert one.partitions == ["orders-eu0", "payments0"]


def test_a_bad_expression_is_refused_and_leaves_no_trace(shop):
    one = shop.consumer("one", subscribed_topic_regex="(")
    answer = one.join()
    assert answer.error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert "missing )" in answer.error_message
    assert shop.rig.records == []


def test_an_expression_is_kept_while_somebody_uses_it(shop):
    one, two = by_regex(shop, "one", "orders.*"), by_regex(shop, "two", "orders.*")
    one.beat(subscribed_topic_regex="pay.*")
    patterns = shop.rig.shard.durable.consumer_groups["g"].patterns
    assert set(patterns) == {"orders.*", "pay.*"}
    two.leave()
    assert set(patterns) == {"pay.*"}
    shop.converge(one)
    assert one.partitions == ["payments0"]
    one.beat(subscribed_topic_regex="", subscribed_topic_names=("orders-eu",))
    assert patterns == {}
    shop.converge(one)
    assert one.partitions == ["orders-eu0"]


def test_offsets_of_topics_that_an_expression_picks_are_in_use(shop):
    by_regex(shop, "one", "orders-.*")
    group = shop.rig.shard.groups["g"]
    assert group.is_subscribed("orders-eu")
    assert not group.is_subscribed("payments")
    assert shop.described().members[0].subscribed_topic_regex == "orders-.*"


def test_a_pattern_selects_from_the_topics_that_the_member_may_see(shop):
    hidden = {"orders-us"}

    def may_see(name):
        return name not in hidden

    one = by_regex(shop, "one", "orders-.*", may_see=may_see)
    assert one.partitions == ["orders-eu0"]
    hidden.clear()
    one.beat(may_see=may_see)
    assert one.partitions == ["orders-eu0"], "nothing says that permissions have changed"
    shop.rig.shard.on_permissions_changed()
    one.beat(may_see=may_see)
    assert one.partitions == ["orders-eu0", "orders-us0"]
    hidden.add("orders-eu")
    shop.rig.shard.on_permissions_changed()
    one.beat(may_see=may_see)
    assert one.partitions == ["orders-us0"]
