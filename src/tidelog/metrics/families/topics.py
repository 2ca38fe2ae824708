"""Traffic by topic: what leaders take in and give out."""

from tidelog.metrics.family import counter, gauge

_KAFKA = "kafka.server:type=BrokerTopicMetrics,name={},topic=*"

RECEIVED_BYTES = counter(
    "tidelog_topic_received_bytes_total",
    "Bytes that leaders appended: batches of producers and coordinators, and markers of transactions.",
    "topic",
    kafka=_KAFKA.format("BytesInPerSec"),
)
RECEIVED_RECORDS = counter(
    "tidelog_topic_received_records_total",
    "Records that leaders appended, without markers of transactions.",
    "topic",
    kafka=_KAFKA.format("MessagesInPerSec"),
)
SENT_BYTES = counter(
    "tidelog_topic_sent_bytes_total",
    "Bytes of record batches that consumers fetched.",
    "topic",
    kafka=_KAFKA.format("BytesOutPerSec"),
)
REFUSED_BATCHES = counter(
    "tidelog_topic_refused_batches_total",
    "Record batches of producers that were refused, for whatever reason.",
    "topic",
    kafka=_KAFKA.format("FailedProduceRequestsPerSec"),
)
REPLICATION_RECEIVED_BYTES = counter(
    "tidelog_replication_received_bytes_total",
    "Bytes that this broker's followers fetched.",
    kafka="kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesInPerSec",
)
REPLICATION_SENT_BYTES = counter(
    "tidelog_replication_sent_bytes_total",
    "Bytes that followers fetched from this broker.",
    kafka="kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesOutPerSec",
)
SIZE_BYTES = gauge("tidelog_topic_size_bytes", "Bytes of the topic's logs on this broker.", "topic")
PARTITIONS = gauge("tidelog_topic_partitions", "Partitions of the topic that this broker leads.", "topic")
