"""Share state: made before partitions are assigned, altered, deleted, and picked up after a crash."""

import pytest

from tests.unit.groups.share.conftest import topic_id
from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.checks import NAME_CHARS_MAX
from tidelog.groups.record_formats.share_group import NamedPartitions, StoredStates
from tidelog.groups.share import states

T = topic_id("t")
ALL = frozenset(range(4))


def alter(crew, group="g", **topics):
    return crew.rig.run(crew.rig.shard.alter_share_offsets(group, topics, *crew.now)).answer


def delete_offsets(crew, *topics, group="g"):
    return crew.rig.run(crew.rig.shard.delete_share_offsets(group, topics, *crew.now)).answer


def delete_states(crew):
    return crew.rig.run(crew.rig.shard.delete_share_states("g", *crew.now)).answer


def deleted(crew, *topics):
    crew.rig.run(crew.rig.shard.share_states_deleted("g", topics, *crew.now))


def delete_group(crew):
    return crew.rig.run(crew.rig.shard.delete_groups(["g"], *crew.now)).answer[0].error


def test_state_that_could_not_be_made_is_asked_for_with_the_next_heartbeat(crew):
    crew.makes = False
    one = crew.newcomer("one")
    one.join()
    assert crew.states.initializing == {T: NamedPartitions("t", ALL)}
    crew.make(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert crew.states.initializing == {}
    assert one.beat().to_make is not None
    crew.make()
    one.beat()
    assert len(one.partitions) == 4


def test_state_that_nobody_answered_for_is_asked_for_again(make_crew):
    crew = make_crew(share_initialize_retry_interval_ms=30_000)
    crew.makes = False
    one = crew.newcomer("one")
    one.join()
    crew.rig.pass_time(29)
    assert one.beat().to_make is None
    crew.rig.pass_time(1)
    assert one.beat().to_make is not None
    crew.reload()
    records = len(crew.rig.records)
    assert one.beat().to_make is not None  # the new coordinator cannot know, and does not wait
    assert len(crew.rig.records) == records  # it is written down already


def test_some_partitions_may_be_made_and_some_not(crew):
    crew.makes = False
    one = crew.newcomer("one")
    one.join()
    half = frozenset({0, 1})
    crew.rig.run(crew.rig.shard.share_states_made("g", {T: half}, {T: ALL - half}, *crew.now))
    again = one.beat()
    assert again.to_make.partitions == {T: ALL - half}
    assert one.partitions == ["t0", "t1"]


def test_an_answer_for_a_group_that_is_gone_is_dropped(crew):
    crew.makes = False
    one = crew.newcomer("one")
    one.join()
    one.leave()
    delete_states(crew)
    assert delete_group(crew) is ErrorCode.NONE
    crew.make()
    assert crew.described().error is ErrorCode.GROUP_ID_NOT_FOUND
    crew.reload()


def test_offsets_are_altered_with_a_new_epoch(crew):
    crew.worker("one").leave()
    epoch, _ = crew.epochs
    answer = alter(crew, t={0: 10, 2: 20, 9: 1}, gone={0: 1})
    assert answer.to_make == ("g", epoch + 1, {T: {0: 10, 2: 20}})
    assert [tuple(one)[:2] for one in answer.unknown] == [("t", 9), ("gone", 0)]
    assert crew.states.initializing == {T: NamedPartitions("t", frozenset({0, 2}))}
    crew.to_make.append(answer.to_make)
    crew.make()
    assert (crew.states.initializing, crew.states.initialized[T].partitions) == ({}, ALL)
    assert alter(crew, t={0: 10}).to_make.state_epoch == epoch + 2
    crew.reload()


def test_a_group_can_be_given_offsets_before_its_first_member(crew):
    answer = alter(crew, t={0: 10})
    assert answer.to_make == ("g", 1, {T: {0: 10}})
    crew.to_make.append(answer.to_make)
    crew.make()
    one = crew.worker("one")
    assert len(one.partitions) == 4
    crew.reload()


def test_offsets_of_nothing_make_no_group(crew):
    assert alter(crew, gone={0: 1}).to_make is None
    assert crew.described().error is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize(
    "ask",
    [lambda crew: alter(crew, t={0: 1}), lambda crew: delete_offsets(crew, "t"), delete_states],
)
def test_a_group_with_members_keeps_its_offsets(crew, ask):
    crew.worker("one")
    records = len(crew.rig.records)
    assert ask(crew).error is ErrorCode.NON_EMPTY_GROUP
    assert len(crew.rig.records) == records


def test_unknown_groups(crew):
    assert delete_offsets(crew, "t").error is ErrorCode.GROUP_ID_NOT_FOUND
    assert delete_offsets(crew, "t", group="").error is ErrorCode.INVALID_GROUP_ID
    assert alter(crew, "", t={0: 1}).error is ErrorCode.INVALID_GROUP_ID
    assert alter(crew, "g" * (NAME_CHARS_MAX + 1), t={0: 1}).error is ErrorCode.INVALID_GROUP_ID
    assert delete_states(crew) == (ErrorCode.NONE, None, None, ())  # DeleteGroups says so by itself


def test_offsets_of_a_topic_are_deleted_in_two_steps(crew):
    crew.set_topics(t=4, u=1)
    crew.worker("one").leave()
    answer = delete_offsets(crew, "t", "u", "gone")
    assert answer.to_delete == ("g", {T: ALL})
    assert [(one.topic_name, one.error_message) for one in answer.unknown] == [
        ("u", "There is no offset information to delete."),
        ("gone", None),
    ]
    assert crew.states == ({}, {}, {T: "t"})
    crew.reload()  # a crash between the two steps
    assert crew.rig.shard.share_states_to_delete() == [("g", {T: ALL})]
    assert delete_offsets(crew, "t").to_delete == ("g", {T: ALL})  # and a client that tries again
    deleted(crew, T)
    assert crew.states == ({}, {}, {})
    assert crew.rig.shard.share_states_to_delete() == []
    one = crew.worker("one")
    assert len(one.partitions) == 4
    crew.reload()


def test_state_that_is_to_be_deleted_can_be_made_anew(crew):
    crew.worker("one").leave()
    delete_states(crew)
    assert crew.states.deleting == {T: "t"}
    one = crew.newcomer("one")
    assert one.join().to_make.partitions == {T: ALL}
    assert crew.states.deleting == {}
    assert delete_group(crew) is ErrorCode.NON_EMPTY_GROUP


def test_a_group_goes_with_all_its_records(crew):
    crew.worker("one").leave()
    assert delete_states(crew).to_delete == ("g", {T: ALL})
    crew.reload()
    assert delete_states(crew).to_delete == ("g", {T: ALL})  # it was not said that it is done
    deleted(crew, T)
    assert delete_group(crew) is ErrorCode.NONE
    left = dict(crew.rig.records)
    assert not any(left.values())  # tombstones for all of it
    assert crew.described().error is ErrorCode.GROUP_ID_NOT_FOUND
    crew.reload()


def test_deleted_topics_are_forgotten(crew):
    crew.set_topics(t=4, u=2)
    one = crew.worker("one", subscribed_topic_names=("t", "u"))
    crew.set_topics(u=2)
    crew.rig.log.write_all(crew.rig.shard.drop_share_topics({T}, *crew.now))
    assert list(crew.states.initialized) == [topic_id("u")]
    one.beat()
    assert one.partitions == ["u0", "u1"]
    assert crew.rig.shard.drop_share_topics({T}, *crew.now) == []
    crew.reload()


def test_a_late_answer_adds_only_what_is_still_wanted():
    begun = StoredStates({T: NamedPartitions("t", frozenset({1}))}, {T: NamedPartitions("t", frozenset({0}))})
    late = {T: frozenset({1, 2}), topic_id("u"): frozenset({0})}
    assert states.made(begun, late) == ({}, {T: NamedPartitions("t", frozenset({0, 1}))}, {})


def test_topics_that_went_while_no_coordinator_was_there_are_noticed(crew):
    one = crew.worker("one")
    crew.set_topics()
    crew.topics = {}
    crew.reload()
    one.beat()
    assert one.partitions == []
