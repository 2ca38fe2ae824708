"""Topics: traffic, size, and the partitions of those that are chosen."""

from tidelog.monitoring.dashboards.dashboard import JOB, Dashboard, Row, Variable
from tidelog.monitoring.dashboards.panel import ORANGE, graph

TOPIC = Variable("topic", "Topic", 'label_values(tidelog_topic_partitions{job="$job"}, topic)', many=True)

_THEM = 'job="$job",topic=~"$topic"'

TRAFFIC = Row(
    "Traffic",
    (
        graph(
            "Bytes in",
            "Bytes of record batches that producers sent.",
            "Bps",
            (
                f"sum by (topic) (rate(tidelog_topic_received_bytes_total{{{_THEM}}}[$__rate_interval]))",
                "{{topic}}",
            ),
            stacked=True,
        ),
        graph(
            "Bytes out",
            "Bytes of record batches that consumers fetched.",
            "Bps",
            (
                f"sum by (topic) (rate(tidelog_topic_sent_bytes_total{{{_THEM}}}[$__rate_interval]))",
                "{{topic}}",
            ),
            stacked=True,
        ),
        graph(
            "Records in",
            "Records that producers sent.",
            "cps",
            (
                f"sum by (topic) (rate(tidelog_topic_received_records_total{{{_THEM}}}[$__rate_interval]))",
                "{{topic}}",
            ),
            stacked=True,
        ),
        graph(
            "Refused batches",
            "Record batches of producers that were refused: too large, too few replicas, no room on the "
            "disk.",
            "cps",
            (
                f"sum by (topic) (rate(tidelog_topic_refused_batches_total{{{_THEM}}}[$__rate_interval]))",
                "{{topic}}",
            ),
        ),
        graph(
            "Bytes of a record",
            "The mean size of records that producers sent, compressed.",
            "bytes",
            (
                "sum by (topic) (rate(tidelog_topic_received_bytes_total"
                f"{{{_THEM}}}[$__rate_interval])) / "
                "sum by (topic) (rate(tidelog_topic_received_records_total"
                f"{{{_THEM}}}[$__rate_interval]))",
                "{{topic}}",
            ),
        ),
    ),
)
SIZE = Row(
    "Size",
    (
        graph(
            "Size on all brokers",
            "Bytes of all replicas of a topic.",
            "bytes",
            (f"sum by (topic) (tidelog_topic_size_bytes{{{_THEM}}})", "{{topic}}"),
            stacked=True,
        ),
        graph(
            "Growth in a day",
            "At the pace of the last hour, with all replicas.",
            "bytes",
            (
                f"sum by (topic) (deriv(tidelog_topic_size_bytes{{{_THEM}}}[1h])) * 86400",
                "{{topic}}",
            ),
            lowest=None,
        ),
        graph(
            "Partitions",
            "Partitions that have a leader.",
            "short",
            (f"sum by (topic) (tidelog_topic_partitions{{{_THEM}}})", "{{topic}}"),
        ),
    ),
)
PARTITIONS = Row(
    "Partitions (left out on brokers with more than metrics.partitions.max)",
    (
        graph(
            "Records by partition",
            "Records a second. One line far above the others is a hot key.",
            "cps",
            (
                "topk(20, sum by (topic, partition) (deriv(tidelog_partition_high_watermark"
                f"{{{_THEM}}}[$__rate_interval])))",
                "{{topic}}-{{partition}}",
            ),
        ),
        graph(
            "Missing in-sync replicas",
            "Replicas that are not in sync, by partition.",
            "short",
            (
                f"topk(20, tidelog_partition_replicas{{{_THEM}}} "
                f"- tidelog_partition_in_sync_replicas{{{_THEM}}})",
                "{{topic}}-{{partition}}",
            ),
            steps=((1, ORANGE),),
        ),
        graph(
            "Lag of followers",
            "Records that followers are behind, by partition and broker.",
            "short",
            (
                f"topk(20, tidelog_partition_follower_lag_records{{{_THEM}}})",
                "{{topic}}-{{partition}} on {{broker}}",
            ),
        ),
        graph(
            "Largest partitions",
            "Bytes of a replica's log.",
            "bytes",
            (
                f"topk(20, max by (topic, partition) (tidelog_partition_size_bytes{{{_THEM}}}))",
                "{{topic}}-{{partition}}",
            ),
        ),
        graph(
            "Records kept",
            "Offsets between the start and the end of a partition.",
            "short",
            (
                f"topk(20, tidelog_partition_log_end_offset{{{_THEM}}} "
                f"- tidelog_partition_log_start_offset{{{_THEM}}})",
                "{{topic}}-{{partition}}",
            ),
        ),
        graph(
            "Segments",
            "Segments of a replica's log.",
            "short",
            (
                f"topk(20, max by (topic, partition) (tidelog_partition_segments{{{_THEM}}}))",
                "{{topic}}-{{partition}}",
            ),
        ),
    ),
)

TOPICS = Dashboard(
    "topics",
    "topics",
    "Traffic, size and partitions of topics.",
    (JOB, TOPIC),
    (TRAFFIC, SIZE, PARTITIONS),
)
