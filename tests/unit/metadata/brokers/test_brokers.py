import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.brokers.brokers import (
    ShutdownProgress,
    decide_controlled_shutdown,
    decide_create_cluster,
    decide_fence_broker,
    decide_register_broker,
    decide_unfence_broker,
    decide_unregister_broker,
)
from tidelog.metadata.brokers.registration_rules import Ended
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.metadata.image.image import MACHINE_VERSION, ClusterImage, advance
from tidelog.metadata.image.records import BrokerChanged, BrokerUnregistered, Endpoint, FeatureChanged
from tidelog.metadata.leaders.partition_changes import PartitionAlteration, decide_alter_partition

HERE = Endpoint("PLAINTEXT", "localhost", 9092)


def register(image, *, epoch=100, incarnation=b"n" * 16, broker_id=1, log_dir=2001, **what):
    log_dirs = [log_dir] if isinstance(log_dir, int) else log_dir
    return decide_register_broker(
        image,
        broker_id=broker_id,
        epoch=epoch,
        incarnation=incarnation,
        endpoints=what.pop("endpoints", (HERE,)),
        rack="r",
        directories=[one.to_bytes(16, "big") for one in log_dirs],
        **what,
    )


def state(image, index=0):
    partition = image.partition("t", index)
    return partition.leader, partition.isr, partition.leader_epoch


class TestRegistration:
    def test_cluster_is_created_once(self):
        first = decide_create_cluster(ClusterImage(), cluster_id="one")
        image = advance(ClusterImage(), first.records).after
        again = decide_create_cluster(image, cluster_id="two")
        assert image.cluster_id == "one"
        assert (again.records, again.results) == ([], ["one"])

    def test_restarted_broker_replaces_its_registration(self, cluster, apply):
        moved = Endpoint("PLAINTEXT", "localhost", 9999)
        decision = register(cluster(), epoch=8, endpoints=(moved,))
        broker = apply(cluster(), decision).brokers[1]
        assert (broker.epoch, broker.endpoints, broker.rack) == (8, {"PLAINTEXT": moved}, "r")
        assert decision.results == [8]

    def test_a_machine_is_registered_once_every_broker_can_read_it(self, cluster, apply):
        before = apply(cluster(), register(cluster(), epoch=8, machine="m"))
        assert before.brokers[1].machine is None
        image = before.apply(FeatureChanged(MACHINE_VERSION, 1))
        after = apply(image, register(image, epoch=9, incarnation=b"o" * 16, machine="m"))
        assert (after.brokers[1].machine, after.brokers[1].machine_key) == ("m", "m")
        assert before.brokers[1].machine_key == 1

    @pytest.mark.parametrize("machine", ["", "m" * 256])
    def test_a_machine_has_a_name_of_some_length(self, cluster, machine):
        with pytest.raises(KafkaError, match="characters, not 1 to 255"):
            register(cluster(), machine=machine)

    def test_the_same_process_keeps_its_epoch(self, cluster, apply):
        image = apply(cluster(), register(cluster(), epoch=8))
        decision = register(image, epoch=9, session_alive=True)
        assert (decision.records, decision.results) == ([], [8])

    def test_second_process_is_refused_while_the_first_lives(self, cluster):
        with pytest.raises(KafkaError, match="Another broker is registered with that broker id") as caught:
            register(cluster(), session_alive=True)
        assert caught.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
        assert register(cluster(), session_alive=False).records
        assert register(cluster(1, fenced=(1,)), session_alive=True).records

    def test_new_process_starts_behind_its_followers(self, with_topic, apply):
        image = with_topic((1, 2), (2, 1), (1,))
        image = apply(image, register(image, fenced=True))
        assert image.brokers[1].fenced
        assert state(image, 0) == (2, (2,), 6)
        assert state(image, 1) == (2, (2,), 5)
        assert state(image, 2) == (NO_LEADER, (1,), 6)

    def test_alone_it_goes_on_at_once(self, with_topic, apply):
        image = with_topic((1,), brokers=1)
        assert len(register(image, ended=Ended.CLEAN).records) == 1
        crashed = apply(image, register(image, ended=Ended.UNCLEAN))
        assert state(crashed) == (1, (1,), 6)

    def test_after_a_crash_others_take_over_from_a_lone_voter_too(self, with_topic, apply):
        image = with_topic((1, 2))
        assert state(apply(image, register(image, ended=Ended.UNCLEAN))) == (2, (2,), 6)

    def test_it_leads_again_what_waited_for_it(self, with_topic, apply):
        image = with_topic((1,), fenced=(1,))
        assert state(apply(image, register(image))) == (1, (1,), 6)


class TestLogDirs:
    def test_empty_disk_costs_the_last_in_sync_replica_its_place(self, with_topic, apply):
        image = with_topic((1, 2), isr=(1,))
        image = apply(image, register(image, log_dir=999, fenced=True))
        assert state(image) == (NO_LEADER, (), 6)
        image = apply(image, decide_unfence_broker(image, 1, 100))
        assert state(image) == (NO_LEADER, (), 6)
        assert image.partition("t", 0).directory_of(1) == (999).to_bytes(16, "big")

    def test_topic_that_asks_for_it_takes_who_is_there(self, with_topic, apply):
        image = with_topic((1, 2), isr=(1,), unclean=True)
        assert state(apply(image, register(image, log_dir=999, fenced=True))) == (2, (2,), 6)

    def test_follower_with_an_empty_disk_may_come_back(self, with_topic, apply):
        image = with_topic((2, 1))
        image = apply(image, register(image, log_dir=999, fenced=True))
        image = apply(image, decide_unfence_broker(image, 1, 100))
        partition = image.partition("t", 0)
        wanted = PartitionAlteration(image.topic("t").id, 0, 5, partition.partition_epoch, [(2, 2), (1, 100)])
        [result] = decide_alter_partition(image, 2, 2, [wanted]).results
        assert result.isr == (2, 1)

    def test_log_dir_that_is_away_keeps_the_last_in_sync_replica_waiting(self, with_topic, apply):
        image = with_topic((1,), brokers=1)
        image = apply(image, register(image, log_dir=[2001, 50]))
        image = apply(image, register(image, log_dir=[50], epoch=101, incarnation=b"o" * 16))
        assert state(image) == (NO_LEADER, (1,), 6)
        assert image.brokers[1].failed_directories == ((2001).to_bytes(16, "big"),)
        image = apply(image, register(image, log_dir=[50, 2001], epoch=102, incarnation=b"p" * 16))
        assert state(image) == (1, (1,), 7)
        assert not image.brokers[1].failed_directories

    def test_empty_disk_in_place_of_one_that_was_away(self, with_topic, apply):
        image = with_topic((1,), brokers=1)
        image = apply(image, register(image, log_dir=[2001, 50]))
        image = apply(image, register(image, log_dir=[50], epoch=101, incarnation=b"o" * 16))
        image = apply(image, register(image, log_dir=[50, 51], epoch=102, incarnation=b"p" * 16))
        assert state(image) == (NO_LEADER, (), 6)


class TestFencing:
    def test_others_lead_and_the_last_replica_waits(self, with_topic, apply):
        image = with_topic((1, 2, 3), (2, 1), (1,))
        image = apply(image, decide_fence_broker(image, 1))
        assert [state(image, index) for index in range(3)] == [
            (2, (2, 3), 6),
            (2, (2,), 5),
            (NO_LEADER, (1,), 6),
        ]
        assert not decide_fence_broker(image, 1).records
        image = apply(image, decide_unfence_broker(image, 1, 1))
        assert state(image, 0) == (2, (2, 3), 6)  # it has to catch up before it counts again
        assert state(image, 2) == (1, (1,), 7)

    def test_unclean_only_where_the_topic_asks(self, with_topic, apply):
        for unclean, after in ((False, (NO_LEADER, (1,), 6)), (True, (2, (2,), 6))):
            image = with_topic((1, 2), isr=(1,), unclean=unclean)
            assert state(apply(image, decide_fence_broker(image, 1))) == after

    def test_one_by_one_down_to_nobody_and_back(self, with_topic, apply):
        image = with_topic((1, 2, 3))
        for broker in (1, 2, 3):
            image = apply(image, decide_fence_broker(image, broker))
        assert state(image) == (NO_LEADER, (3,), 8)
        image = apply(image, decide_unfence_broker(image, 1, 1))
        assert state(image) == (NO_LEADER, (3,), 8)
        image = apply(image, decide_unfence_broker(image, 3, 3))
        assert state(image) == (3, (3,), 9)

    def test_only_the_registered_process_is_let_in(self, cluster):
        with pytest.raises(KafkaError, match="Expected broker epoch 1, but got broker epoch 7") as caught:
            decide_unfence_broker(cluster(1, fenced=(1,)), 1, 7)
        assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH
        with pytest.raises(KafkaError, match="not currently registered"):
            decide_fence_broker(cluster(1), 2)

    def test_unregistered_broker_stays_a_replica_by_name(self, with_topic, apply):
        image = with_topic((1, 2), (1,))
        decision = decide_unregister_broker(image, 1)
        assert decision.records[0] == BrokerUnregistered(1, 1)
        image = apply(image, decision)
        assert 1 not in image.brokers
        assert image.partition("t", 0).replicas == (1, 2)
        assert state(image, 0) == (2, (2,), 6)
        assert state(image, 1) == (NO_LEADER, (1,), 6)
        with pytest.raises(KafkaError, match="Broker ID 1 is not currently registered") as caught:
            decide_unregister_broker(image, 1)
        assert caught.value.code == ErrorCode.BROKER_ID_NOT_REGISTERED


class TestControlledShutdown:
    def test_leaders_move_first(self, with_topic, apply):
        image = with_topic((1, 2), (2, 1))
        decision = decide_controlled_shutdown(image, 1)
        assert decision.records[0] == BrokerChanged(1, 1, shutting_down=True)
        assert decision.results == [ShutdownProgress(0, 0)]
        image = apply(image, decision)
        assert state(image, 0) == (2, (2,), 6)
        assert state(image, 1) == (2, (2,), 5)
        assert not decide_controlled_shutdown(image, 1).records

    def test_last_broker_serves_to_the_end(self, with_topic, apply):
        image = with_topic((1, 2), isr=(1,), fenced=(2,))
        decision = decide_controlled_shutdown(image, 1)
        assert decision.results == [ShutdownProgress(leads=1, waits_for=0)]
        assert not any(decision.results)
        image = apply(image, decision)
        assert state(image) == (1, (1,), 5)
        assert state(apply(image, decide_fence_broker(image, 1))) == (NO_LEADER, (1,), 6)

    def test_follower_that_catches_up_takes_over(self, with_topic, apply):
        image = with_topic((1, 2), isr=(1,), unclean=True)
        decision = decide_controlled_shutdown(image, 1)
        assert decision.results == [ShutdownProgress(leads=1, waits_for=1)]
        image = apply(image, decision)
        caught_up = PartitionAlteration(image.topic("t").id, 0, 5, 7, [(1, 1), (2, 2)])
        altered = decide_alter_partition(image, 1, 1, [caught_up])
        assert altered.results[0].error == ErrorCode.NEW_LEADER_ELECTED
        image = apply(image, altered)
        assert state(image) == (2, (2,), 6)
        assert decide_controlled_shutdown(image, 1).results == [ShutdownProgress(0, 0)]
