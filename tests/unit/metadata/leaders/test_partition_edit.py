from tidelog.metadata.image.records import PartitionChanged, encode_record
from tidelog.metadata.leaders.election_rules import Election, ElectionRules
from tidelog.metadata.leaders.partition_edit import edit_partition, without

ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def edit(image, **what):
    return edit_partition(image.topic("t"), image.partition("t", 0), ElectionRules(image.brokers), **what)


def test_what_changes_nothing_is_no_record(with_topic):
    image = with_topic((1, 2, 3))
    assert edit(image) is None
    assert edit(image, isr=(1, 2, 3), replicas=(1, 2, 3)) is None
    same_place = image.partition("t", 0).directory_of(1)
    assert edit(image, directories={1: same_place}) is None


def test_shrinking_the_in_sync_set_keeps_the_leader_epoch(with_topic):
    assert edit(with_topic((1, 2, 3)), isr=(1, 3)) == PartitionChanged(ID, 0, 8, isr=(1, 3))


def test_new_leader_new_epoch(with_topic):
    changed = edit(with_topic((1, 2, 3)), isr=(2, 3))
    assert changed == PartitionChanged(ID, 0, 8, leader=2, leader_epoch=6, isr=(2, 3))


def test_last_in_sync_replica_is_kept_without_a_leader(with_topic):
    image = with_topic((1, 2), isr=(1,))
    assert edit(image, isr=()) == PartitionChanged(ID, 0, 8, leader=-1, leader_epoch=6)
    emptied = edit(image, isr=(), lost=(1,))
    assert emptied == PartitionChanged(ID, 0, 8, leader=-1, leader_epoch=6, isr=())


def test_unclean_leader_is_alone_in_sync(with_topic):
    image = with_topic((1, 2, 3), isr=(1,), fenced=(1,))
    changed = edit(image, isr=(), election=Election.UNCLEAN)
    assert (changed.leader, changed.isr) == (2, (2,))


def test_reassignment_ends_when_all_that_stay_are_in_sync(with_topic):
    image = with_topic((3, 4, 1, 2), isr=(1, 2, 3), adding=(3, 4), removing=(1, 2))
    assert edit(image, isr=(1, 2, 3)) is None
    changed = edit(image, isr=(1, 2, 3, 4))
    assert (changed.replicas, changed.isr, changed.adding, changed.removing) == ((3, 4), (3, 4), (), ())
    assert (changed.leader, changed.leader_epoch) == (3, 6)


def test_replica_that_leaves_ends_the_leader_epoch(with_topic):
    """Else it could go on fetching under an epoch in which it was a replica."""
    image = with_topic((1, 2, 3), removing=(3,))
    changed = edit(image)
    assert (changed.replicas, changed.leader, changed.leader_epoch) == ((1, 2), 1, 6)


def test_new_replica_is_put_into_the_only_directory_of_its_broker(with_topic):
    changed = edit(with_topic((1, 2)), replicas=(3, 1, 2), adding=(3,), removing=())
    assert changed.directories == (
        "AAAAAAAAAAAAAAAAAAAH0w",
        "AAAAAAAAAAAAAAAAAAAH0Q",
        "AAAAAAAAAAAAAAAAAAAH0g",
    )


def test_record_is_small(with_topic):
    assert encode_record(edit(with_topic((1, 2, 3)), isr=(1, 2))) == (
        b'{"type":"partition-changed","topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","partition":0,'
        b'"partition_epoch":8,"isr":[1,2]}'
    )


def test_without_keeps_the_order():
    assert without((3, 1, 2), (1,)) == (3, 2)
