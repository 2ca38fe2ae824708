"""What a follower tells its leader, and when it must tell everything again."""

from tidelog.replication.follower_fetch_session import EPOCH_MAX, FollowerFetchSession
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest

A, B = bytes(16), bytes([1] * 16)


def at(index: int, offset: int = 0) -> FetchPartition:
    return FetchPartition(partition=index, fetch_offset=offset)


def sent(
    session: FollowerFetchSession,
) -> tuple[int, int, list[tuple[bytes, int, int]], list[tuple[bytes, int]]]:
    request = FetchRequest()
    session.fill(request)
    named = [(t.topic_id, p.partition, p.fetch_offset) for t in request.topics for p in t.partitions]
    forgotten = [(t.topic_id, index) for t in request.forgotten_topics_data for index in t.partitions]
    return request.session_id, request.session_epoch, named, forgotten


def test_everything_is_named_once_and_then_only_what_changes() -> None:
    session = FollowerFetchSession()
    session.want((A, 0), at(0))
    session.want((A, 1), at(1))
    session.want((B, 0), at(0, 7))
    assert sent(session) == (0, 0, [(A, 0, 0), (A, 1, 0), (B, 0, 7)], [])
    assert not session.is_open
    session.accept(42)
    assert session.is_open
    assert not session.has_changes
    assert sent(session) == (42, 1, [], [])
    session.accept(42)
    session.want((A, 1), at(1, 5))
    session.forget((B, 0))
    assert session.has_changes
    assert sent(session) == (42, 2, [(A, 1, 5)], [(B, 0)])
    assert sent(session) == (42, 3, [], []), "a second request may follow before the first is answered"
    assert not session.is_empty


def test_after_a_failure_everything_is_named_under_the_old_id_so_that_the_leader_forgets_it() -> None:
    session = FollowerFetchSession()
    session.want((A, 0), at(0))
    sent(session)
    session.accept(42)
    session.want((A, 0), at(0, 9))
    session.want((A, 1), at(1))
    session.forget((A, 1))
    sent(session)
    session.reset()
    assert not session.is_open
    assert sent(session) == (42, 0, [(A, 0, 9)], [])
    session.accept(43)
    assert sent(session) == (43, 1, [], [])


def test_a_leader_without_room_for_a_session_gets_everything_each_time() -> None:
    session = FollowerFetchSession()
    session.want((A, 0), at(0))
    for _ in range(2):
        assert sent(session) == (0, 0, [(A, 0, 0)], [])
        session.accept(0)


def test_what_was_forgotten_and_is_wanted_again_is_not_forgotten() -> None:
    session = FollowerFetchSession()
    session.want((A, 0), at(0))
    sent(session)
    session.accept(42)
    session.forget((A, 0))
    assert session.is_empty
    session.want((A, 0), at(0, 3))
    assert sent(session) == (42, 1, [(A, 0, 3)], [])
    assert not session.is_empty


def test_the_epoch_begins_again_at_one() -> None:
    session = FollowerFetchSession()
    session.want((A, 0), at(0))
    sent(session)
    session.accept(42)
    session._epoch = EPOCH_MAX
    assert sent(session)[1] == EPOCH_MAX
    assert sent(session)[1] == 1


def test_the_last_request_ends_the_session() -> None:
    session = FollowerFetchSession()
    session.want((A, 0), at(0))
    sent(session)
    session.accept(42)
    request = FetchRequest()
    session.fill_last(request)
    assert (request.session_id, request.session_epoch, request.topics) == (42, -1, [])
