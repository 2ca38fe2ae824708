import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.shares import sessions as sessions_module
from tidelog.broker.shares.sessions import EPOCH_MAX, FINAL_EPOCH, INITIAL_EPOCH, ShareMember, ShareSessions
from tidelog.groups.consumer.checks import NAME_CHARS_MAX
from tidelog.wire.messages import share_acknowledge
from tidelog.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)

JOBS, MAILS = b"j" * 16, b"m" * 16
MEMBER = ShareMember("workers", "anna")
CONNECTION = 7
ACCEPT_FIRST = AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])


def fetch(
    epoch: int,
    *partitions: tuple[bytes, int],
    member: str | None = "anna",
    group: str | None = "workers",
    forget: tuple[tuple[bytes, int], ...] = (),
    acks: list[AcknowledgementBatch] | None = None,
) -> ShareFetchRequest:
    return ShareFetchRequest(
        group_id=group,
        member_id=member,
        share_session_epoch=epoch,
        topics=[
            FetchTopic(
                topic_id=topic,
                partitions=[FetchPartition(partition_index=index, acknowledgement_batches=acks or [])],
            )
            for topic, index in partitions
        ],
        forgotten_topics_data=[ForgottenTopic(topic_id=topic, partitions=[index]) for topic, index in forget],
    )


def acknowledge(epoch: int) -> share_acknowledge.ShareAcknowledgeRequest:
    batch = share_acknowledge.AcknowledgementBatch(first_offset=3, last_offset=5, acknowledge_types=[1])
    part = share_acknowledge.AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
    topic = share_acknowledge.AcknowledgeTopic(topic_id=JOBS, partitions=[part])
    return share_acknowledge.ShareAcknowledgeRequest(
        group_id="workers", member_id="anna", share_session_epoch=epoch, topics=[topic]
    )


def sessions(limit: int = 10) -> ShareSessions:
    return ShareSessions(lambda: limit)


def refused(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return error.value.code


def test_a_session_remembers_its_partitions() -> None:
    made = sessions()
    first = made.plan(fetch(INITIAL_EPOCH, (JOBS, 0), (JOBS, 1)), CONNECTION)
    assert first.partitions == ((JOBS, 0), (JOBS, 1))
    second = made.plan(fetch(1, (MAILS, 0), forget=((JOBS, 0),)), CONNECTION)
    assert second.partitions == ((JOBS, 1), (MAILS, 0))
    assert made.plan(fetch(2), CONNECTION).partitions == second.partitions
    assert (len(made), made.partitions_total) == (1, 2)


def test_a_partition_that_delivered_goes_to_the_end() -> None:
    made = sessions()
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0), (JOBS, 1), (JOBS, 2)), CONNECTION)
    made.served(MEMBER, (JOBS, 0))
    made.served(MEMBER, (MAILS, 0))
    made.served(ShareMember("workers", "bert"), (JOBS, 1))
    assert made.plan(fetch(1), CONNECTION).partitions == ((JOBS, 1), (JOBS, 2), (JOBS, 0))


def test_acknowledgements_come_by_partition() -> None:
    made = sessions()
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0)), CONNECTION)
    plan = made.plan(fetch(1, (JOBS, 0), (JOBS, 0), acks=[ACCEPT_FIRST]), CONNECTION)
    assert plan.acknowledged == {(JOBS, 0): [ACCEPT_FIRST, ACCEPT_FIRST]}


@pytest.mark.parametrize("epoch", [0, 2, 7, -2, EPOCH_MAX])
def test_another_epoch_is_refused_and_changes_nothing(epoch: int) -> None:
    made = sessions()
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0)), CONNECTION)
    if epoch:
        with pytest.raises(KafkaError) as error:
            made.plan(fetch(epoch, (JOBS, 9)), CONNECTION)
        assert refused(error) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    with pytest.raises(KafkaError) as error:
        made.plan_acknowledge(acknowledge(epoch), CONNECTION)
    assert refused(error) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert made.plan(fetch(1), CONNECTION).partitions == ((JOBS, 0),)


def test_fetches_and_acknowledgements_count_the_same_epoch() -> None:
    made = sessions()
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0)), CONNECTION)
    assert not made.plan_acknowledge(acknowledge(1), CONNECTION).is_final
    made.plan(fetch(2), CONNECTION)
    assert made.plan_acknowledge(acknowledge(3), CONNECTION).acknowledged[JOBS, 0][0].last_offset == 5


def test_the_epoch_after_the_largest_is_one() -> None:
    made = sessions()
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0)), CONNECTION)
    made._sessions[MEMBER].epoch = EPOCH_MAX
    made.plan(fetch(EPOCH_MAX), CONNECTION)
    made.plan(fetch(1), CONNECTION)


def test_without_a_session_only_a_new_one_can_begin() -> None:
    made = sessions()
    for epoch in (1, FINAL_EPOCH):
        with pytest.raises(KafkaError) as error:
            made.plan(fetch(epoch, (JOBS, 0)), CONNECTION)
        assert refused(error) is ErrorCode.SHARE_SESSION_NOT_FOUND
        with pytest.raises(KafkaError) as error:
            made.plan_acknowledge(acknowledge(epoch), CONNECTION)
        assert refused(error) is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert len(made) == 0


def test_the_first_request_acknowledges_nothing() -> None:
    made = sessions()
    with pytest.raises(KafkaError) as error:
        made.plan(fetch(INITIAL_EPOCH, (JOBS, 0), acks=[ACCEPT_FIRST]), CONNECTION)
    assert refused(error) is ErrorCode.INVALID_REQUEST
    assert len(made) == 0


@pytest.mark.parametrize(
    ("group", "member"), [(None, "anna"), ("", "anna"), ("g", None), ("g", ""), ("g", "x" * 37)]
)
def test_names_are_needed(group: str | None, member: str | None) -> None:
    with pytest.raises(KafkaError) as error:
        sessions().plan(fetch(INITIAL_EPOCH, (JOBS, 0), group=group, member=member), CONNECTION)
    assert refused(error) is ErrorCode.INVALID_REQUEST


def test_the_last_request_fetches_nothing_and_leaves_the_end_to_the_manager() -> None:
    made = sessions()
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0)), CONNECTION)
    plan = made.plan(fetch(FINAL_EPOCH, (JOBS, 0), acks=[ACCEPT_FIRST]), CONNECTION)
    assert (plan.partitions, plan.is_final) == ((), True)
    assert plan.acknowledged
    assert made.plan_acknowledge(acknowledge(FINAL_EPOCH), CONNECTION).is_final
    made.close(MEMBER)
    made.close(MEMBER)
    assert (len(made), made.partitions_total) == (0, 0)


def test_a_session_ends_with_the_connection_that_began_it() -> None:
    made = sessions()
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0)), CONNECTION)
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0), member="bert"), CONNECTION)
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0), (JOBS, 1)), CONNECTION + 1)  # anna came back
    assert made.close_connection(CONNECTION) == [ShareMember("workers", "bert")]
    assert made.plan(fetch(1), CONNECTION + 1).partitions == ((JOBS, 0), (JOBS, 1))
    assert made.close_connection(CONNECTION + 1) == [MEMBER]
    assert made.close_connection(CONNECTION + 1) == []
    assert (len(made), made.partitions_total, made._of_connections) == (0, 0, {})


def test_at_the_limit_a_known_member_may_begin_anew_and_a_new_one_not() -> None:
    made = sessions(limit=1)
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0)), CONNECTION)
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 1)), CONNECTION)
    with pytest.raises(KafkaError) as error:
        made.plan(fetch(INITIAL_EPOCH, (JOBS, 0), member="bert"), CONNECTION)
    assert refused(error) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert (len(made), made.partitions_total) == (1, 1)


def test_partitions_over_all_sessions_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "PARTITIONS_MAX", 2)
    made = sessions()
    made.plan(fetch(INITIAL_EPOCH, (JOBS, 0), (JOBS, 1)), CONNECTION)
    with pytest.raises(KafkaError) as error:
        made.plan(fetch(1, (JOBS, 2)), CONNECTION)
    assert refused(error) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    made.plan(fetch(INITIAL_EPOCH, (MAILS, 0), (MAILS, 1)), CONNECTION)
    assert made.partitions_total == 2


def test_a_group_id_that_no_heartbeat_may_have_has_no_session() -> None:
    known = sessions()
    known.plan(fetch(INITIAL_EPOCH, group="g" * NAME_CHARS_MAX), CONNECTION)
    for epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        with pytest.raises(KafkaError) as error:
            known.plan(fetch(epoch, group="g" * (NAME_CHARS_MAX + 1)), CONNECTION)
        assert refused(error) is ErrorCode.INVALID_REQUEST
    assert len(known) == 1
