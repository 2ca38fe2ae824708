"""Any run of admin requests: decisions always fit their image, and every way to rebuild it agrees."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.base.config.config import BrokerConfig
from tidelog.metadata.brokers.brokers import decide_register_broker
from tidelog.metadata.brokers.producer_ids import decide_producer_id_block
from tidelog.metadata.configs.alter_configs import ConfigAlteration, decide_incremental_alter_configs
from tidelog.metadata.configs.edits import ConfigEdit
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import BrokerChanged, Endpoint, decode_record, encode_record
from tidelog.metadata.topics.create_partitions import TopicGrowth, decide_create_partitions
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics
from tidelog.metadata.topics.delete_topics import TopicToDelete, decide_delete_topics

CONFIG = BrokerConfig()
GOOD_NAMES = st.sampled_from(["a", "a.b", "a_b", "c"])
NAMES = st.one_of(GOOD_NAMES, GOOD_NAMES, st.sampled_from(["..", "", "x" * 250, "__cluster_metadata"]))
BROKERS = st.integers(0, 3)
COUNTS = st.sampled_from([-1, 1, 2, 1, 3, -2, 0, 4])
REPLICAS = st.lists(BROKERS, max_size=3, unique=True)
CONFIGS = st.tuples(
    st.sampled_from(["retention.ms", "cleanup.policy", "message.max.bytes", "segment.bytes", "no.such"]),
    st.sampled_from(["100000000", "compact", "delete", "5", "", None]),
)

new_topics = st.lists(
    st.builds(
        NewTopic,
        NAMES,
        COUNTS,
        COUNTS,
        st.one_of(st.just(()), st.lists(st.tuples(st.integers(0, 3), REPLICAS), max_size=3)),
        st.lists(CONFIGS, max_size=1),
    ),
    min_size=1,
    max_size=3,
)
growths = st.lists(
    st.builds(TopicGrowth, NAMES, st.integers(-1, 8), st.one_of(st.none(), st.lists(REPLICAS, max_size=2))),
    min_size=1,
    max_size=3,
)
doomed = st.lists(
    st.builds(
        TopicToDelete,
        st.one_of(st.none(), NAMES),
        st.one_of(st.just(bytes(16)), st.integers(0, 5).map(lambda number: number.to_bytes(16, "big"))),
    ),
    max_size=3,
)
alterations = st.lists(
    st.builds(
        ConfigAlteration,
        st.sampled_from([2, 2, 4, 8]),
        st.one_of(NAMES, st.sampled_from(["", "1"])),
        st.lists(
            st.builds(lambda pair, op: ConfigEdit(pair[0], pair[1], op), CONFIGS, st.integers(0, 4)),
            max_size=3,
        ),
    ),
    max_size=3,
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("register"), st.tuples(BROKERS, st.sampled_from([None, "r1", "r2"]))),
        st.tuples(st.just("fence"), st.tuples(BROKERS, st.booleans())),
        st.tuples(st.just("create"), new_topics),
        st.tuples(st.just("create"), st.tuples(st.builds(NewTopic, GOOD_NAMES, st.integers(1, 3)))),
        st.tuples(st.just("grow"), growths),
        st.tuples(st.just("delete"), doomed),
        st.tuples(st.just("alter"), alterations),
        st.tuples(st.just("ids"), st.none()),
    ),
    min_size=3,
    max_size=12,
)


class Controller:
    """Decides and applies, and keeps every record."""

    def __init__(self):
        self.image = ClusterImage()
        self.records = []
        self._ids = iter(range(1, 10_000))
        for broker in (0, 1):
            self.step("register", (broker, None))
        self.step("create", [NewTopic("a", 2, 2), NewTopic("c")])

    def step(self, what, how):
        records = self._decide(what, how)
        delta = advance(self.image, records)
        self.records += records
        self._check_delta(delta)
        self.image = delta.after

    def _decide(self, what, how):
        image = self.image
        if what == "register":
            return decide_register_broker(
                image,
                broker_id=how[0],
                epoch=len(self.records) + 1,
                incarnation=next(self._ids).to_bytes(16, "big"),
                endpoints=[Endpoint("PLAINTEXT", "h", 1)],
                rack=how[1],
            ).records
        if what == "fence":
            known = image.brokers.get(how[0])
            return [BrokerChanged(how[0], known.epoch, fenced=how[1])] if known else []
        if what == "create":
            decision = decide_create_topics(
                image, how, defaults=TopicDefaults(2, 1), new_id=lambda: next(self._ids).to_bytes(16, "big")
            )
        elif what == "grow":
            decision = decide_create_partitions(image, how)
        elif what == "delete":
            decision = decide_delete_topics(image, how)
        elif what == "alter":
            decision = decide_incremental_alter_configs(image, how, node_id=1, config=CONFIG)
        else:
            return decide_producer_id_block(image, broker_id=1).records
        assert len(decision.results) == len(how)
        assert all(result.ok or result.message for result in decision.results)
        return decision.records

    def _check_delta(self, delta):
        before, after = delta.before.topics_by_id, delta.after.topics_by_id
        assert {topic.id for topic in delta.topics_created} == after.keys() - before.keys()
        assert {topic.id for topic in delta.topics_deleted} == before.keys() - after.keys()
        grown = {
            (topic.id, partition.index)
            for topic in after.values()
            for partition in topic.partitions
            if topic.id not in before or partition.index >= len(before[topic.id].partitions)
        }
        assert {(topic.id, partition.index) for topic, partition in delta.partitions_created} == grown
        for name, topic in delta.before.topics.items():
            if delta.after.topics.get(name) == topic:
                assert delta.after.topics[name] is topic or name in {r.name for r in delta.configs_changed}


def check_valid(image):
    assert {topic.name: topic for topic in image.topics_by_id.values()} == image.topics
    assert all(topic.id == topic_id for topic_id, topic in image.topics_by_id.items())
    forms = [name.replace(".", "_") for name in image.topics]
    assert len(set(forms)) == len(forms)
    for topic in image.topics.values():
        assert topic.partitions
        assert "no.such" not in topic.configs
        for index, partition in enumerate(topic.partitions):
            assert partition.index == index
            assert len(partition.replicas) == topic.replication_factor == len(set(partition.replicas))
            assert set(partition.isr) <= set(partition.replicas) <= image.brokers.keys()
            assert partition.leader in partition.isr


@settings(max_examples=150)
@given(steps, st.integers(1, 7))
def test_decisions_keep_the_image_valid_and_every_replay_agrees(taken, batch_size):
    controller = Controller()
    for what, how in taken:
        controller.step(what, how)
    image = controller.image
    check_valid(image)

    stored = [decode_record(encode_record(record)) for record in controller.records]
    assert advance(ClusterImage(), stored).after == image

    piecewise = ClusterImage()
    for first in range(0, len(stored), batch_size):
        piecewise = advance(piecewise, stored[first : first + batch_size]).after
    assert piecewise == image

    one_by_one = ClusterImage()
    for record in stored:
        one_by_one = one_by_one.apply(record)
    assert one_by_one == image

    assert advance(ClusterImage(), image_records(image)).after == image


@settings(max_examples=60)
@given(
    st.dictionaries(st.integers(0, 9), st.sampled_from([None, "r1", "r2", "r3"]), min_size=1, max_size=7),
    st.integers(1, 7),
    st.integers(0, 2**32),
    st.integers(1, 40),
)
def test_placement_is_even_and_uses_racks(racks, factor, seed, count):
    image = ClusterImage()
    for epoch, (broker, rack) in enumerate(racks.items(), 1):
        decision = decide_register_broker(
            image,
            broker_id=broker,
            epoch=epoch,
            incarnation=epoch.to_bytes(16, "big"),
            endpoints=[],
            rack=rack,
        )
        image = advance(image, decision.records).after
    decision = decide_create_topics(
        image,
        [NewTopic("t", count, factor)],
        defaults=TopicDefaults(),
        new_id=lambda: seed.to_bytes(16, "big"),
    )
    if factor > len(racks):
        assert not decision.records
        return
    topic = advance(image, decision.records).after.topic("t")
    leaders = [partition.leader for partition in topic.partitions]
    load = [leaders.count(broker) for broker in racks]
    assert max(load) - min(load) <= 1
    rack_sizes = [list(racks.values()).count(rack) for rack in set(racks.values())]
    for partition in topic.partitions:
        used = [[racks[broker] for broker in partition.replicas].count(rack) for rack in set(racks.values())]
        # A rack is used less than another only when all of its brokers are taken.
        for size, uses in zip(rack_sizes, used, strict=True):
            assert uses == size or uses >= max(used) - 1
