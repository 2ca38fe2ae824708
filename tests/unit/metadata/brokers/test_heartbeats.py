import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.brokers.brokers import decide_controlled_shutdown
from tidelog.metadata.brokers.heartbeats import BrokerSessions, Heartbeat, HeartbeatResult, decide_heartbeat
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.metadata.topics.cordons import is_cordoned


class TestSessions:
    def test_broker_is_alive_for_a_session(self):
        sessions = BrokerSessions(9.0)
        assert not sessions.is_alive(1, 0.0)
        sessions.touch(1, 5, 100.0)
        assert sessions.is_alive(1, 109.0)
        assert (sessions.expired(109.0), sessions.expired(109.1)) == ([], [1])
        assert sessions.last_contact(1) == 100.0
        sessions.forget(1)
        assert (sessions.expired(200.0), sessions.last_contact(1)) == ([], None)

    def test_the_longest_silent_is_first(self):
        sessions = BrokerSessions(1.0)
        for broker, now in ((1, 3.0), (2, 1.0), (3, 2.0)):
            sessions.touch(broker, 0, now)
        assert sessions.expired(9.0) == [2, 3, 1]

    def test_nobody_pays_for_a_controller_that_stood_still(self):
        sessions = BrokerSessions(9.0)
        sessions.touch(1, 0, 10.0)
        sessions.touch(2, 0, 14.0)
        assert sessions.expired(14.0) == []
        assert sessions.expired(40.0) == []  # it was stopped; heartbeats are still in its buffers
        assert sessions.expired(43.0) == []
        assert sessions.expired(46.0) == [1]  # four seconds of silence before, six after
        assert sessions.expired(49.1) == [1, 2]

    def test_late_heartbeat_does_not_turn_time_back(self):
        sessions = BrokerSessions(1.0)
        sessions.touch(1, 0, 5.0)
        sessions.touch(1, 0, 4.0)
        assert sessions.last_contact(1) == 5.0

    def test_new_controller_gives_everybody_a_session(self, cluster):
        sessions = BrokerSessions(9.0)
        sessions.touch(7, 0, 0.0)
        sessions.begin(cluster(3, fenced=(2,)).brokers.values(), 50.0)
        assert sessions.expired(59.0) == []
        assert sessions.expired(60.0) == [1, 3]

    def test_hand_over_is_complete_when_all_active_brokers_have_seen_it(self, cluster):
        sessions, image = BrokerSessions(9.0), cluster(4, fenced=(4,))
        for broker in (1, 2, 3, 4):
            sessions.touch(broker, broker, 0.0, 10)
        assert sessions.others_know(1, image)
        sessions.handed_over(1, 20)
        sessions.touch(2, 2, 1.0, 20)
        assert not sessions.others_know(1, image)
        sessions.touch(3, 3, 1.0, 25)
        assert sessions.others_know(1, image)
        sessions.touch(3, 99, 1.0, 5)  # restarted: it has to read the log again
        assert not sessions.others_know(1, image)


def beat(image, broker=1, offset=10, others_know=True, votes=False, **wants):
    heartbeat = Heartbeat(broker, broker, offset, **wants)
    return decide_heartbeat(image, heartbeat, others_know=others_know, votes=votes)


class TestDecision:
    def test_silence_is_golden(self, cluster):
        decision = beat(cluster())
        assert (decision.records, decision.results) == ([], [HeartbeatResult(True, False)])

    def test_broker_is_let_in_once_it_knows_of_its_registration(self, with_topic, apply):
        image = with_topic((3,), fenced=(3,))
        behind = beat(image, 3, offset=2)
        assert (behind.records, behind.results) == ([], [HeartbeatResult(False, True)])
        decision = beat(image, 3, offset=3)
        assert decision.results == [HeartbeatResult(True, False)]
        assert apply(image, decision).partition("t", 0).leader == 3
        assert not beat(image, 3, wants_fence=True).records

    def test_broker_asks_to_be_fenced(self, with_topic, apply):
        image = with_topic((1, 2))
        decision = beat(image, wants_fence=True)
        assert decision.results == [HeartbeatResult(True, True)]
        assert apply(image, decision).partition("t", 0).leader == 2

    def test_it_leaves_in_three_steps(self, with_topic, apply):
        image = with_topic((1, 2))
        moved = beat(image, wants_shutdown=True)
        assert moved.results == [HeartbeatResult(True, False, False)]
        image = apply(image, moved)
        assert image.partition("t", 0).leader == 2
        waits = beat(image, wants_shutdown=True, others_know=False)
        assert (waits.records, waits.results) == ([], [HeartbeatResult(True, False, False)])
        goes = beat(image, wants_shutdown=True)
        assert goes.results == [HeartbeatResult(True, True, True)]
        image = apply(image, goes)
        assert image.brokers[1].fenced
        again = beat(image, wants_shutdown=True)
        assert (again.records, again.results) == ([], [HeartbeatResult(True, True, True)])

    def test_a_drained_broker_is_unregistered_and_its_cordon_goes_with_it(self, with_topic, apply, cordoned):
        image = cordoned(with_topic((1, 2)), 3)
        image = apply(image, beat(image, 3, wants_shutdown=True))
        goes = beat(image, 3, wants_shutdown=True)
        assert goes.results == [HeartbeatResult(True, True, True)]
        image = apply(image, goes)
        assert 3 not in image.brokers
        assert not is_cordoned(image, 3)

    @pytest.mark.parametrize(("broker", "votes"), [(1, False), (3, True)])
    def test_a_broker_with_replicas_or_a_vote_stays_registered(
        self, with_topic, apply, cordoned, broker, votes
    ):
        image = cordoned(with_topic((1, 2)), broker)
        image = apply(image, beat(image, broker, wants_shutdown=True))
        goes = beat(image, broker, wants_shutdown=True, votes=votes)
        assert goes.results == [HeartbeatResult(True, True, True)]
        assert apply(image, goes).brokers[broker].fenced

    def test_it_waits_for_a_follower_that_may_catch_up(self, with_topic, apply):
        image = with_topic((1, 2), isr=(1,))
        image = apply(image, decide_controlled_shutdown(image, 1))
        assert beat(image, wants_shutdown=True).results == [HeartbeatResult(True, False, False)]

    def test_the_last_broker_may_go(self, with_topic, apply):
        image = with_topic((1,), brokers=1)
        image = apply(image, beat(image, wants_shutdown=True))
        assert image.partition("t", 0).leader == 1
        decision = beat(image, wants_shutdown=True)
        assert decision.results == [HeartbeatResult(True, True, True)]
        partition = apply(image, decision).partition("t", 0)
        assert (partition.leader, partition.isr) == (NO_LEADER, (1,))

    def test_at_once_if_it_wants_both(self, with_topic):
        decision = beat(with_topic((1, 2)), wants_fence=True, wants_shutdown=True)
        assert decision.results == [HeartbeatResult(True, True, True)]

    def test_failed_log_dir(self, with_topic, apply):
        image = with_topic((1, 2))
        decision = beat(image, offline_directories=[(2001).to_bytes(16, "big")])
        assert decision.results == [HeartbeatResult(True, True)]  # its only one
        assert apply(image, decision).brokers[1].fenced
        unknown = beat(image, offline_directories=[b"x" * 16])
        assert (unknown.records, unknown.results) == ([], [HeartbeatResult(True, False)])

    def test_only_the_registered_process_is_heard(self, cluster):
        with pytest.raises(KafkaError) as caught:
            decide_heartbeat(cluster(), Heartbeat(1, 77, 10), others_know=True)
        assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH
