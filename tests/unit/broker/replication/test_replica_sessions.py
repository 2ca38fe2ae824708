"""The fetch sessions that a leader keeps for its followers: one for each broker of the largest cluster."""

from tests.rigs.raft.schedule import SeededRandom
from tidelog.broker.replication.replica_sessions import ReplicaSessions
from tidelog.broker.requests.fetch_sessions import INITIAL_EPOCH, NO_SESSION
from tidelog.raft.settings import RaftSettings
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

VERSION, EPOCH = 17, 1
TOPIC_ID = bytes(range(16))


def test_no_follower_of_the_largest_cluster_pushes_out_another() -> None:
    sessions = ReplicaSessions(SeededRandom("1"))
    topics = [FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition(partition=0)])]
    begin = FetchRequest(session_id=NO_SESSION, session_epoch=INITIAL_EPOCH, topics=topics)
    opened = {
        replica: sessions.resume(begin, VERSION, replica, EPOCH).id
        for replica in range(RaftSettings().observers_max)
    }
    assert len(sessions) == len(opened)
    for replica, id in opened.items():
        assert sessions.resume(FetchRequest(session_id=id, session_epoch=1), VERSION, replica, EPOCH).id == id
