import pytest

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode
from tidelog.metadata.configs.alter_configs import (
    ConfigAlteration,
    decide_alter_configs,
    decide_incremental_alter_configs,
)
from tidelog.metadata.configs.edits import ConfigEdit, ConfigOp
from tidelog.metadata.image.image import advance
from tidelog.metadata.image.records import ConfigChanged, ResourceKind
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture
def image(cluster, new_id):
    made = cluster()
    wanted = [NewTopic("a", configs=[("retention.ms", "5"), ("segment.bytes", "1048576")]), NewTopic("b")]
    return advance(
        made, decide_create_topics(made, wanted, defaults=TopicDefaults(), new_id=new_id).records
    ).after


def setting(kind, name, **configs):
    edits = [ConfigEdit(key.replace("_", "."), value) for key, value in configs.items()]
    return ConfigAlteration(kind, name, edits)


def edit(kind, name, *edits):
    return ConfigAlteration(kind, name, [ConfigEdit(key, value, op) for key, op, value in edits])


def replace(image, *alterations, **options):
    return decide_alter_configs(image, alterations, node_id=1, config=BrokerConfig(), **options)


def change(image, *alterations, **options):
    config = options.pop("config", None) or BrokerConfig()
    return decide_incremental_alter_configs(image, alterations, node_id=1, config=config, **options)


def after(image, decision):
    assert [result.message for result in decision.results if not result.ok] == []
    return advance(image, decision.records).after


def test_legacy_replaces_all(image):
    image = after(image, replace(image, setting(TOPIC, "a", retention_ms="7", max_message_bytes="100")))
    assert image.topic("a").configs == {"retention.ms": "7", "max.message.bytes": "100"}


def test_legacy_with_nothing_clears(image):
    assert after(image, replace(image, setting(TOPIC, "a"))).topic("a").configs == {}


def test_incremental_leaves_the_others(image):
    edits = edit(TOPIC, "a", ("retention.ms", ConfigOp.SET, "7"), ("segment.bytes", ConfigOp.DELETE, None))
    assert after(image, change(image, edits)).topic("a").configs == {"retention.ms": "7"}


def test_unchanged_values_write_nothing(image):
    assert not change(image, edit(TOPIC, "a", ("retention.ms", ConfigOp.SET, "5"))).records


def test_append_starts_from_the_inherited_value(image):
    append = edit(TOPIC, "b", ("cleanup.policy", ConfigOp.APPEND, "compact"))
    assert after(image, change(image, append)).topic("b").configs == {"cleanup.policy": "delete,compact"}
    compacting = BrokerConfig({"log.cleanup.policy": ("compact",)})
    append = edit(TOPIC, "b", ("cleanup.policy", ConfigOp.APPEND, "delete"))
    assert after(image, change(image, append, config=compacting)).topic("b").configs == {
        "cleanup.policy": "compact,delete"
    }


def test_append_adds_nothing_twice_and_subtract_takes_away(image):
    image = after(image, change(image, edit(TOPIC, "b", ("cleanup.policy", 0, "compact"))))
    image = after(image, change(image, edit(TOPIC, "b", ("cleanup.policy", 2, "compact,delete"))))
    assert image.topic("b").configs == {"cleanup.policy": "compact,delete"}
    image = after(image, change(image, edit(TOPIC, "b", ("cleanup.policy", 3, "compact"))))
    assert image.topic("b").configs == {"cleanup.policy": "delete"}


def test_this_broker_and_the_cluster_default(image):
    image = after(
        image,
        change(
            image,
            edit(BROKER, "1", ("message.max.bytes", 0, "2000")),
            edit(BROKER, "", ("message.max.bytes", 0, "1000")),
        ),
    )
    assert image.broker_configs == {"1": {"message.max.bytes": "2000"}, "": {"message.max.bytes": "1000"}}


def test_a_listeners_settings_change_for_one_broker(image):
    name = "listener.name.clients.ssl.cipher.suites"
    decision = change(image, edit(BROKER, "1", (name, ConfigOp.APPEND, "A,B")))
    assert decision.results[0].error == ErrorCode.NONE
    assert after(image, decision).broker_configs["1"] == {name: "A,B"}


def test_validate_only_judges_but_writes_nothing(image):
    good, bad = edit(TOPIC, "a", ("retention.ms", 0, "9")), edit(TOPIC, "b", ("retention.ms", 0, "x"))
    for decide in (change, replace):
        decision = decide(image, good, bad, validate_only=True)
        assert [result.error for result in decision.results] == [ErrorCode.NONE, ErrorCode.INVALID_CONFIG]
        assert not decision.records


@pytest.mark.parametrize(
    ("alteration", "code", "text"),
    [
        (
            edit(TOPIC, "no", ("retention.ms", 0, "1")),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "'no' does not exist",
        ),
        (edit(TOPIC, "", ("retention.ms", 0, "1")), ErrorCode.INVALID_REQUEST, "Default topic resources"),
        (
            edit(TOPIC, "..", ("retention.ms", 0, "1")),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "'..' is not allowed",
        ),
        (edit(BROKER_LOGGER, "1", ("x", 0, "1")), ErrorCode.INVALID_REQUEST, "Unknown resource type 8"),
        (edit(0, "1"), ErrorCode.INVALID_REQUEST, "Unknown resource type 0"),
        (edit(-7, "1"), ErrorCode.INVALID_REQUEST, "Unknown resource type -7"),
        (edit(BROKER, "2"), ErrorCode.INVALID_REQUEST, "No broker with id 2 is registered."),
        (edit(BROKER, "one"), ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: one"),
        (edit(TOPIC, "a", ("nope", 0, "1")), ErrorCode.INVALID_CONFIG, "Unknown topic config name: nope"),
        (edit(TOPIC, "a", ("nope", 1, None)), ErrorCode.INVALID_CONFIG, "Unknown topic config name: nope"),
        (edit(TOPIC, "a", ("nope", 2, "x")), ErrorCode.INVALID_CONFIG, "Unknown topic config name: nope"),
        (edit(BROKER, "", ("nope", 0, "1")), ErrorCode.INVALID_CONFIG, "Unknown config name: nope"),
        (edit(TOPIC, "a", ("retention.ms", 0, "soon")), ErrorCode.INVALID_CONFIG, "Invalid value soon for"),
        (edit(TOPIC, "a", ("retention.ms", 0, "1" * 40_000)), ErrorCode.INVALID_CONFIG, "40000 characters"),
        (
            edit(TOPIC, "a", ("retention.ms", 0, None)),
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for",
        ),
        (edit(TOPIC, "a", ("retention.ms", 4, "1")), ErrorCode.INVALID_REQUEST, "Unknown operations type 4"),
        (
            edit(TOPIC, "a", ("retention.ms", 2, "1")),
            ErrorCode.INVALID_CONFIG,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            edit(TOPIC, "a", ("retention.ms", 3, "1")),
            ErrorCode.INVALID_CONFIG,
            "Can't SUBTRACT to key retention.ms because its type is not LIST.",
        ),
        (edit(TOPIC, "a", ("cleanup.policy", 2, "burn")), ErrorCode.INVALID_CONFIG, "'burn' is not one of"),
        (
            edit(TOPIC, "a", ("retention.ms", 0, "1"), ("retention.ms", 1, None)),
            ErrorCode.INVALID_REQUEST,
            "duplicate config keys",
        ),
        (
            edit(TOPIC, "a", ("min.compaction.lag.ms", 0, "9"), ("max.compaction.lag.ms", 0, "8")),
            ErrorCode.INVALID_CONFIG,
            "min.compaction.lag.ms",
        ),
        (
            edit(BROKER, "1", ("node.id", 0, "5")),
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs dynamically: node.id",
        ),
        (edit(BROKER, "", ("message.max.bytes", 0, "-5")), ErrorCode.INVALID_CONFIG, "message.max.bytes"),
        (
            edit(BROKER, "1", ("ssl.keystore.location", 0, "/k.pem")),
            ErrorCode.INVALID_REQUEST,
            "only per-listener using the listener prefix: ssl.keystore.location",
        ),
        (
            edit(BROKER, "", ("listener.name.clients.ssl.keystore.location", 0, "/k.pem")),
            ErrorCode.INVALID_REQUEST,
            "broker id must be specified: listener.name.clients.ssl.keystore.location",
        ),
        (
            edit(BROKER, "1", ("listener.name.clients.ssl.keystore.place", 0, "/k.pem")),
            ErrorCode.INVALID_CONFIG,
            "Unknown config name: listener.name.clients.ssl.keystore.place",
        ),
    ],
)
def test_refusals_do_not_stop_the_others(image, alteration, code, text):
    decision = change(image, alteration, edit(TOPIC, "b", ("retention.ms", 0, "1")))
    assert [result.error for result in decision.results] == [code, ErrorCode.NONE]
    assert text in decision.results[0].message
    assert decision.results[0].resource_name == alteration.resource_name
    assert decision.records == [ConfigChanged(ResourceKind.TOPIC, "b", "retention.ms", "1")]


def test_clearing_a_broker_setting_that_does_not_exist_is_no_mistake(image):
    """Tools clear limits after their work, some of a kind that does not exist here."""
    key = "no.such.limit"
    decision = change(image, edit(BROKER, "1", (key, 1, None)), edit(BROKER, "", (key, 0, "5")))
    assert [result.error for result in decision.results] == [ErrorCode.NONE, ErrorCode.INVALID_CONFIG]
    assert not decision.records


def test_resource_twice(image):
    decision = change(image, edit(TOPIC, "a", ("retention.ms", 1, None)), edit(TOPIC, "a"))
    assert [result.error for result in decision.results] == [ErrorCode.INVALID_REQUEST] * 2
    assert not decision.records


def test_cluster_and_broker_settings_of_one_request_must_fit_together(image):
    decision = change(
        image,
        edit(BROKER, "", ("log.cleaner.min.compaction.lag.ms", 0, "100")),
        edit(BROKER, "1", ("log.cleaner.max.compaction.lag.ms", 0, "50")),
    )
    assert [result.error for result in decision.results] == [ErrorCode.NONE, ErrorCode.INVALID_CONFIG]


def test_what_another_version_stored_can_be_deleted_and_blocks_nothing(image):
    image = image.apply(ConfigChanged(ResourceKind.TOPIC, "a", "from.the.future", "?"))
    image = image.apply(ConfigChanged(ResourceKind.BROKER, "", "node.id", "?"))
    image = after(image, change(image, edit(TOPIC, "a", ("retention.ms", 0, "1"))))
    image = after(image, change(image, edit(BROKER, "", ("message.max.bytes", 0, "5000"))))
    image = after(
        image,
        change(image, edit(TOPIC, "a", ("from.the.future", 1, None)), edit(BROKER, "", ("node.id", 1, None))),
    )
    assert "from.the.future" not in image.topic("a").configs
    assert image.broker_configs == {"": {"message.max.bytes": "5000"}}


def test_a_group_has_settings_before_it_exists_and_loses_them(image):
    session = "consumer.session.timeout.ms"
    image = after(image, change(image, edit(GROUP, "g", (session, ConfigOp.SET, "50000"))))
    assert image.group_configs == {"g": {session: "50000"}}
    assert image.broker_configs == {}
    image = after(image, change(image, edit(GROUP, "g", (session, ConfigOp.DELETE, None))))
    assert image.group_configs == {}


@pytest.mark.parametrize(
    ("name", "key", "value", "words"),
    [
        ("", "consumer.session.timeout.ms", "50000", "Default group resources"),
        ("g", "retention.ms", "1", "Unknown group config name: retention.ms"),
        ("g", "consumer.session.timeout.ms", "soon", "not a whole number"),
        ("g", "consumer.session.timeout.ms", "44999", "group.consumer.min.session.timeout.ms"),
        ("g", "consumer.session.timeout.ms", "60001", "group.consumer.max.session.timeout.ms"),
        ("g", "streams.num.standby.replicas", "3", "group.streams.max.standby.replicas"),
        ("g", "share.auto.offset.reset", "by_duration:1d", "by_duration"),
        ("g" * 9000, "consumer.session.timeout.ms", "50000", "at most 8191"),
    ],
)
def test_what_a_group_may_not_have(image, name, key, value, words):
    [result] = change(image, edit(GROUP, name, (key, ConfigOp.SET, value))).results
    assert words in result.message


def test_a_stored_value_beyond_a_limit_that_moved_does_not_keep_others_from_changing(image):
    roomy = BrokerConfig({"group.consumer.max.session.timeout.ms": 90_000})
    far = edit(GROUP, "g", ("consumer.session.timeout.ms", ConfigOp.SET, "80000"))
    image = after(image, change(image, far, config=roomy))
    near = edit(GROUP, "g", ("consumer.heartbeat.interval.ms", ConfigOp.SET, "6000"))
    assert len(after(image, change(image, near)).group_configs["g"]) == 2


def test_a_client_metrics_subscription_comes_and_goes_with_its_settings(image):
    image = after(image, change(image, edit(CLIENT_METRICS, "s", ("metrics", ConfigOp.APPEND, "a,b"))))
    image = after(image, change(image, edit(CLIENT_METRICS, "s", ("metrics", ConfigOp.SUBTRACT, "a"))))
    image = after(image, change(image, edit(CLIENT_METRICS, "s", ("interval.ms", ConfigOp.SET, "100"))))
    assert image.client_metrics == {"s": {"metrics": "b", "interval.ms": "100"}}
    gone = edit(
        CLIENT_METRICS, "s", *((key, ConfigOp.DELETE, None) for key in ("metrics", "interval.ms", "match"))
    )
    assert after(image, change(image, gone)).client_metrics == {}


@pytest.mark.parametrize(
    ("name", "setting", "error", "words"),
    [
        ("", ("metrics", "*"), ErrorCode.INVALID_REQUEST, "Subscription name can't be empty"),
        ("s" * 250, ("metrics", "*"), ErrorCode.INVALID_REQUEST, "at most 249"),
        (
            "s",
            ("retention.ms", "1"),
            ErrorCode.INVALID_REQUEST,
            "Unknown client metrics configuration: retention.ms",
        ),
        ("s", ("interval.ms", "99"), ErrorCode.INVALID_REQUEST, "between 100 and 3600000"),
        ("s", ("interval.ms", "3600001"), ErrorCode.INVALID_REQUEST, "between 100 and 3600000"),
        ("s", ("interval.ms", "soon"), ErrorCode.INVALID_CONFIG, "not a whole number"),
        ("s", ("match", "client=x"), ErrorCode.INVALID_CONFIG, "Illegal client matching pattern"),
        ("s", ("match", "client_id=("), ErrorCode.INVALID_CONFIG, "Illegal client matching pattern"),
    ],
)
def test_what_a_client_metrics_subscription_may_not_have(image, name, setting, error, words):
    key, value = setting
    [result] = change(image, edit(CLIENT_METRICS, name, (key, ConfigOp.SET, value))).results
    assert result.error is error
    assert words in result.message


def test_client_metrics_subscriptions_are_bounded(image, monkeypatch):
    monkeypatch.setattr("tidelog.metadata.configs.alter_configs.SUBSCRIPTIONS_MAX", 1)
    image = after(image, change(image, edit(CLIENT_METRICS, "s", ("metrics", ConfigOp.SET, "a"))))
    [other] = change(image, edit(CLIENT_METRICS, "t", ("metrics", ConfigOp.SET, "a"))).results
    assert other.error is ErrorCode.POLICY_VIOLATION
    [same] = change(image, edit(CLIENT_METRICS, "s", ("metrics", ConfigOp.SET, "b"))).results
    assert same.error is ErrorCode.NONE
    both = [edit(CLIENT_METRICS, name, ("metrics", ConfigOp.SET, "a")) for name in ("u", "v")]
    monkeypatch.setattr("tidelog.metadata.configs.alter_configs.SUBSCRIPTIONS_MAX", 2)
    assert [result.ok for result in change(image, *both).results] == [True, False]


DEAD_LETTERS = "errors.deadletterqueue.topic.name"


@pytest.mark.parametrize("name", ["dlq.orders", "dlq.", ""])
def test_a_group_may_name_a_dead_letter_topic_that_does_not_exist_yet(image, name):
    assert after(image, change(image, edit(GROUP, "g", (DEAD_LETTERS, ConfigOp.SET, name))))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("__consumer_offsets", "cannot start with __"),
        ("__mine", "cannot start with __"),
        ("orders", "start with 'dlq.'"),
        ("dlq.a/b", "Topic name is invalid"),
        ("dlq." + 300 * "x", "Topic name is invalid"),
    ],
)
def test_names_that_no_dead_letter_topic_may_have(image, name, why):
    decision = change(image, edit(GROUP, "g", (DEAD_LETTERS, ConfigOp.SET, name)))
    [result] = decision.results
    assert result.error is ErrorCode.INVALID_CONFIG
    assert why in result.message
    assert decision.records == []


def test_the_prefix_of_dead_letter_topics_is_a_setting(image):
    config = BrokerConfig({"errors.deadletterqueue.topic.name.prefix": ""})
    assert change(image, edit(GROUP, "g", (DEAD_LETTERS, ConfigOp.SET, "a")), config=config).results[0].ok


def test_a_stored_name_that_a_new_prefix_forbids_does_not_block_other_changes(image):
    config = BrokerConfig({"errors.deadletterqueue.topic.name.prefix": ""})
    image = after(image, change(image, edit(GROUP, "g", (DEAD_LETTERS, ConfigOp.SET, "a")), config=config))
    other = edit(GROUP, "g", ("share.isolation.level", ConfigOp.SET, "read_committed"))
    assert change(image, other).results[0].ok


def test_an_internal_topic_takes_no_dead_letters(cluster, new_id):
    enable = "errors.deadletterqueue.group.enable"
    made = cluster()
    wanted = [NewTopic("__consumer_offsets"), NewTopic("dlq.a", configs=[(enable, "true")])]
    made = advance(
        made, decide_create_topics(made, wanted, defaults=TopicDefaults(), new_id=new_id).records
    ).after
    decision = change(made, edit(TOPIC, "__consumer_offsets", (enable, ConfigOp.SET, "true")))
    assert decision.results[0].error is ErrorCode.INVALID_CONFIG
    assert "internal topic" in decision.results[0].message
    assert change(made, edit(TOPIC, "__consumer_offsets", (enable, ConfigOp.SET, "false"))).results[0].ok
    assert change(made, edit(TOPIC, "dlq.a", (enable, ConfigOp.SET, "true"))).results[0].ok


def test_an_internal_topic_cannot_be_created_for_dead_letters(cluster, new_id):
    wanted = [NewTopic("__mine", configs=[("errors.deadletterqueue.group.enable", "true")])]
    decision = decide_create_topics(cluster(), wanted, defaults=TopicDefaults(), new_id=new_id)
    assert decision.results[0].error is ErrorCode.INVALID_CONFIG
