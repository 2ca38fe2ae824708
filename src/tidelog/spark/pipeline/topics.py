"""The topics that a pipeline writes to: made before its queries start, with what the broker chooses."""

from tidelog.base.errors import ErrorCode
from tidelog.blocking.cluster import Cluster
from tidelog.spark.pipeline.sinks import sink_options
from tidelog.spark.pipeline.spec import Sink
from tidelog.spark.sink.options import read_sink_options
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse

BROKERS_CHOICE = -1


def create_missing_topic(sink: Sink, brokers: str) -> bool:
    """True where it was made."""
    options = read_sink_options(sink_options(sink, brokers))
    name = sink.topic or ""
    with Cluster(options.cluster) as cluster:
        if cluster.topics([name]):
            return False

        def failed(answer: CreateTopicsResponse) -> int:
            code = answer.topics[0].error_code
            return 0 if code == ErrorCode.TOPIC_ALREADY_EXISTS else code

        topic = CreatableTopic(name=name, num_partitions=BROKERS_CHOICE, replication_factor=BROKERS_CHOICE)
        cluster.call_any(CreateTopicsRequest(topics=[topic]), failed=failed)
    return True
