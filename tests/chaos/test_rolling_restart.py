"""All brokers are restarted in turn, as for an upgrade: clients wait a little, and nothing fails."""

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.chaos.campaign import campaign
from tests.chaos.process_cluster import ProcessCluster
from tidelog.testing.history import Completion

pytestmark = pytest.mark.timeout(300)


class TopicMaker(threading.Thread):
    """Creates one topic after the other, by whatever broker is the controller."""

    def __init__(self, cluster: ProcessCluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self.is_stopping = threading.Event()
        self.made = 0
        self.failures: list[str] = []

    def run(self) -> None:
        while not self.is_stopping.wait(0.3):
            try:
                self._create(f"made-{self.made}")
            except KafkaException as error:
                # It was repeated: the answer got lost, or a broker gave up waiting for the old controller.
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    self.failures.append(str(error))
            self.made += 1

    def _create(self, name: str) -> None:
        try:
            self._cluster.create_topic(name, 1)
        except KafkaException as error:
            # It was sent over a connection that the broker had closed already, which no broker can help;
            # librdkafka repeats what producers and consumers send then, but not this.
            if error.args[0].code() != KafkaError._TRANSPORT:
                raise
            self._create(name)


def test_no_request_fails(make_cluster) -> None:
    # Nobody dies here, so nobody should be taken for dead on a busy machine either.
    cluster = make_cluster(
        broker_session_timeout_ms=20_000,
        controller_quorum_election_timeout_ms=3_000,
        shutdown_grace_ms=20_000,
    )
    cluster.start()
    with campaign(cluster, "rolling", longest_s=0) as run:
        run.begin()
        maker = TopicMaker(cluster)
        maker.start()
        for member in cluster.members.values():
            before = maker.made
            assert member.terminate() == 0, member.log_tail()
            member.launch()
            member.until_ready()
            cluster.until_whole()
            run.crowd.until_writing()
            assert maker.made > before
        maker.is_stopping.set()
        maker.join()
        assert not maker.failures
        problems = run.problems()
        assert not problems, "\n".join(problems[:20])
        assert run.crowd.count(Completion.INFO) == 0
        # Leaders were moved before the broker went, so nobody had to wait until it was missed.
        for member in cluster.members.values():
            assert "stopping anyway" not in member.log_text()
            assert "are aborted" not in member.log_text(), "all that was asked is answered"
            assert "sent no heartbeat for" not in member.log_text()
