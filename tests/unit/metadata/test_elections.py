from tidelog.metadata.create_topics import NewTopic, TopicDefaults, decide_create_topics
from tidelog.metadata.elections import decide_epochs_after_crash
from tidelog.metadata.image import advance


def test_only_what_the_broker_leads_gets_a_new_epoch(cluster, new_id):
    image = cluster(2)
    wanted = [NewTopic("a", assignments=[(0, [1, 2]), (1, [2, 1])]), NewTopic("b", assignments=[(0, [1])])]
    created = decide_create_topics(image, wanted, defaults=TopicDefaults(), new_id=new_id)
    image = advance(image, created.records).after
    for _ in range(2):
        delta = advance(image, decide_epochs_after_crash(image, broker_id=1).records)
        image = delta.after
        assert [(topic.name, p.index) for topic, p in delta.partitions_changed] == [("a", 0), ("b", 0)]
    epochs = [(p.leader, p.leader_epoch, p.partition_epoch) for p in image.topic("a").partitions]
    assert epochs == [(1, 2, 2), (2, 0, 0)]


def test_nothing_led_nothing_written(cluster):
    assert not decide_epochs_after_crash(cluster(), broker_id=1).records
